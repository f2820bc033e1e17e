/* A stand-in for libhsa-runtime64.so.1, the layer between AMD's HIP runtime and the kernel driver, with one CPU and one fake
 * GPU. With this library, the real libamdhip64.so.5 starts, reports the GPU, selects code objects from bundles and loads them.
 * The stand-in reads the arguments in a launch's packet, and runs the kernel if FAKE_RUNS contains it.
 *
 *   FAKE_GPU  the GPU's target ID with all its features: "gfx90a:sramecc+:xnack-". Not set or empty: no GPU.
 *   FAKE_LOG  a file to which the stand-in writes a line for each code object, and for each kernel that the runtime requests.
 *   FAKE_KERNELS  a file with kernels. Their launches are logged with the arguments that the runtime has packed: see kernels.h.
 *   FAKE_RUNS, FAKE_FAULT  objects with kernels that run, and faults of the GPU: see running.h. A kernel that faults ends the
 *             process, as with AMD's runtime. This layer does not support faults of drivers.
 *
 * The runtime imports more functions than this file defines. The test generates the missing functions, which do nothing and
 * return 0 (HSA_STATUS_SUCCESS). */
#define _GNU_SOURCE
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "log.h"
#include "running.h"

enum { PAGE = 4096, QUEUE_PACKET = 64 };
/* Handles of agents, and of the GPU's instruction set. */
enum { CPU = 1, GPU = 2, GPU_ISA = 3 };
/* Handles of memory pools. */
enum { CPU_FINE_GRAINED = 11, CPU_COARSE_GRAINED, GPU_MEMORY, GPU_LDS };
static const size_t POOL_SIZE = (size_t)4 << 30;
static const size_t LDS_SIZE = 64 << 10;

/* A query writes its answer to `void *value`. The answer's type depends on the query. */
#define ANSWER(type, answer) (*(type *)value = (type)(answer))

static const char *fake_gpu(void) {
  const char *gpu = getenv("FAKE_GPU");
  return gpu ? gpu : "";
}

/* ---- Code objects and kernels, which the tests check ---- */

hsa_status_t hsa_code_object_reader_create_from_memory(const void *code_object, size_t size,
                                                       hsa_code_object_reader_t *reader) {
  log_line("code object: %zu bytes, fnv1a %016llx", size, (unsigned long long)fnv1a(code_object, size));
  reader->handle = (uint64_t)code_object;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                   hsa_code_object_reader_t reader, const char *options,
                                                   hsa_loaded_code_object_t *loaded) {
  log_line("loaded on %s", agent.handle == GPU ? "the GPU" : "what is not the GPU");
  if (loaded)
    loaded->handle = reader.handle;
  return HSA_STATUS_SUCCESS;
}

/* The symbol of a kernel that is not in FAKE_KERNELS. */
enum { UNKNOWN = sizeof kernels / sizeof *kernels };
static _Alignas(64) char descriptors[UNKNOWN + 1][64];
/* The symbols of kernels that run, which follow the symbols above. */
static _Alignas(64) char descriptors_of_runnables[MOST_RUNNABLE][64];

hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char *name, const hsa_agent_t *agent,
                                               hsa_executable_symbol_t *symbol) {
  char kernel[64];
  const struct runnable *runnable;
  log_line("symbol: %s", name);
  snprintf(kernel, sizeof kernel, "%.*s", (int)(strcspn(name, ".")), name);
  struct listed_kernel *known = kernel_named(kernel);
  if (!known && (runnable = runnable_named(kernel)))
    symbol->handle = 2 + UNKNOWN + (uint64_t)(runnable - runnables);
  else
    symbol->handle = 1 + (known ? (uint64_t)(known - kernels) : UNKNOWN);
  return HSA_STATUS_SUCCESS;
}

static void *descriptor(hsa_executable_symbol_t symbol) {
  uint64_t number = symbol.handle - 1;
  return number > UNKNOWN ? descriptors_of_runnables[number - UNKNOWN - 1] : descriptors[number];
}

/* Each symbol is a kernel. The descriptor is all zeros, which means that the kernel needs no registers, no memory and
 * no arguments. */
hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t asked,
                                            void *value) {
  switch (asked) {
  case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
    ANSWER(uint32_t, HSA_SYMBOL_KIND_KERNEL);
    break;
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
  case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
    ANSWER(uint64_t, descriptor(symbol));
    break;
  default:
    ANSWER(uint32_t, 0);
  }
  return HSA_STATUS_SUCCESS;
}

/* Runs the kernel of a packet. A packet contains the grid's size in threads, not in blocks as in CUDA. */
static void run_packet(const struct runnable *kernel, const hsa_kernel_dispatch_packet_t *packet) {
  unsigned block[3] = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z};
  unsigned grid[3] = {packet->grid_size_x / block[0], packet->grid_size_y / block[1], packet->grid_size_z / block[2]};
  void **arguments = arguments_in(kernel, packet->kernarg_address);
  int signal = run_kernel(kernel, grid, block, packet->group_segment_size, arguments);
  if (signal || has_fault("later", kernel->name)) {
    fprintf(stderr, "Memory access fault by GPU node-1: the kernel %s\n", kernel->name);
    abort();
  }
}

/* If a packet launches a kernel of FAKE_KERNELS, logs the arguments. If it launches a kernel of FAKE_RUNS, runs the
 * kernel. */
static void look_at_packet(const hsa_kernel_dispatch_packet_t *packet) {
  if ((packet->header & 0xff) != HSA_PACKET_TYPE_KERNEL_DISPATCH)
    return;
  for (int i = 0; i < kernel_count; ++i)
    if (packet->kernel_object == (uint64_t)descriptors[i]) {
      char *text = arguments_text(&kernels[i], NULL, packet->kernarg_address, SIZE_MAX);
      log_line("%s by packet:%s", kernels[i].name, text);
      free(text);
    }
  for (int i = 0; i < runnable_count; ++i)
    if (packet->kernel_object == (uint64_t)descriptors_of_runnables[i])
      run_packet(&runnables[i], packet);
}

/* ---- The system ---- */

hsa_status_t hsa_system_get_info(hsa_system_info_t asked, void *value) {
  struct timespec now;
  switch (asked) {
  case HSA_SYSTEM_INFO_VERSION_MAJOR:
  case HSA_SYSTEM_INFO_VERSION_MINOR:
    ANSWER(uint16_t, 1);
    break;
  case HSA_SYSTEM_INFO_TIMESTAMP:
    clock_gettime(CLOCK_MONOTONIC, &now);
    ANSWER(uint64_t, now.tv_sec * 1000000000 + now.tv_nsec);
    break;
  case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
    ANSWER(uint64_t, 1000000000);
    break;
  case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT:
    ANSWER(uint64_t, UINT64_MAX);
    break;
  default:
    ANSWER(uint8_t, 0);
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_status_string(hsa_status_t status, const char **text) {
  *text = "an error of the stand-in for HSA";
  return HSA_STATUS_SUCCESS;
}

/* The loader is the only extension, because HIP does not start without it. HIP requests the host address of a device
 * address. Here, both addresses are the same. All other functions in the extension's table return an error, but are
 * never called. */
hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major, uint16_t minor, bool *supported) {
  *supported = extension == HSA_EXTENSION_AMD_LOADER;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major, uint16_t minor,
                                           bool *supported) {
  *supported = false;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t query_host_address(const void *device, const void **host) {
  *host = device;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t no_such_function(void) { return HSA_STATUS_ERROR; }

hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t major, size_t size, void *table) {
  typedef hsa_status_t (*function)(void);
  function *functions = table;
  for (size_t i = 0; i < size / sizeof(function); ++i)
    functions[i] = no_such_function;
  if (extension == HSA_EXTENSION_AMD_LOADER)
    ((hsa_ven_amd_loader_1_00_pfn_t *)table)->hsa_ven_amd_loader_query_host_address = query_host_address;
  return HSA_STATUS_SUCCESS;
}

/* ---- Agents ---- */

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data) {
  hsa_agent_t agent = {CPU};
  hsa_status_t status = callback(agent, data);
  if (status != HSA_STATUS_SUCCESS || !*fake_gpu())
    return status;
  agent.handle = GPU;
  return callback(agent, data);
}

/* Answers that are numbers of 32 bits, and the same for both agents. The limits are similar to those of AMD's GPUs. HIP
 * divides by some of them. */
static const struct {
  unsigned asked;
  uint32_t answer;
} numbers[] = {
    {HSA_AGENT_INFO_MACHINE_MODEL, HSA_MACHINE_MODEL_LARGE},
    {HSA_AGENT_INFO_WAVEFRONT_SIZE, 64},
    {HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, 1024},
    {HSA_AGENT_INFO_GRID_MAX_SIZE, UINT32_MAX},
    {HSA_AGENT_INFO_QUEUES_MAX, 128},
    {HSA_AGENT_INFO_QUEUE_MIN_SIZE, 64},
    {HSA_AGENT_INFO_QUEUE_MAX_SIZE, 128 << 10},
    {HSA_AMD_AGENT_INFO_CACHELINE_SIZE, 64},
    {HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, 8},
    {HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, 32},
    {HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, 4},
    {HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, 1},
    {HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE, 1},
    {HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, 1600},
    {HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY, 1600},
    {HSA_AMD_AGENT_INFO_MEMORY_WIDTH, 4096},
};

/* Answers queries about both agents, including values that HIP only passes on to its users. */
hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t asked, void *value) {
  bool gpu = agent.handle == GPU;
  switch ((unsigned)asked) {
  case HSA_AGENT_INFO_NAME:
    /* The processor's name, without the features. */
    if (gpu)
      sprintf(value, "%.*s", (int)strcspn(fake_gpu(), ":"), fake_gpu());
    else
      strcpy(value, "Fake CPU");
    break;
  case HSA_AGENT_INFO_VENDOR_NAME:
    strcpy(value, gpu ? "AMD" : "CPU");
    break;
  case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
    strcpy(value, gpu ? "Fake AMD GPU" : "Fake CPU");
    break;
  case HSA_AMD_AGENT_INFO_UUID:
    strcpy(value, "GPU-0000000000000001");
    break;
  case HSA_AGENT_INFO_DEVICE:
    ANSWER(uint32_t, gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    break;
  case HSA_AGENT_INFO_FEATURE:
    ANSWER(uint32_t, gpu ? HSA_AGENT_FEATURE_KERNEL_DISPATCH : 0);
    break;
  case HSA_AGENT_INFO_PROFILE:
    ANSWER(uint32_t, gpu ? HSA_PROFILE_BASE : HSA_PROFILE_FULL);
    break;
  case HSA_AGENT_INFO_ISA:
    ((hsa_isa_t *)value)->handle = GPU_ISA;
    break;
  case HSA_AGENT_INFO_NODE:
  case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
    ANSWER(uint32_t, gpu);
    break;
  case HSA_AGENT_INFO_VERSION_MAJOR:
  case HSA_AGENT_INFO_VERSION_MINOR:
    ANSWER(uint16_t, 1);
    break;
  case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
    for (int i = 0; i < 3; ++i)
      ((uint16_t *)value)[i] = 1024;
    break;
  case HSA_AGENT_INFO_GRID_MAX_DIM:
    for (int i = 0; i < 3; ++i)
      ((uint32_t *)value)[i] = INT32_MAX;
    break;
  case HSA_AGENT_INFO_CACHE_SIZE:
    memset(value, 0, 4 * sizeof(uint32_t));
    ((uint32_t *)value)[0] = 16 << 10;
    ((uint32_t *)value)[1] = 8 << 20;
    break;
  case HSA_AGENT_INFO_EXTENSIONS:
    memset(value, 0, 128);
    break;
  case HSA_AMD_AGENT_INFO_HDP_FLUSH:
    memset(value, 0, sizeof(hsa_amd_hdp_flush_t));
    break;
  case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
    ANSWER(bool, false);
    break;
  default:
    ANSWER(uint32_t, 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
      if (numbers[i].asked == (unsigned)asked)
        ANSWER(uint32_t, numbers[i].answer);
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void *), void *data) {
  hsa_isa_t isa = {GPU_ISA};
  return callback(isa, data);
}

/* Returns the name by which HIP searches for the GPU's entry in a bundle. */
hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t asked, void *value) {
  static const char prefix[] = "amdgcn-amd-amdhsa--";
  switch (asked) {
  case HSA_ISA_INFO_NAME_LENGTH:
    ANSWER(uint32_t, sizeof prefix + strlen(fake_gpu()));
    break;
  case HSA_ISA_INFO_NAME:
    sprintf(value, "%s%s", prefix, fake_gpu());
    break;
  default:
    ANSWER(uint32_t, 0);
  }
  return HSA_STATUS_SUCCESS;
}

/* ---- Memory, which is all the host's ---- */

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t, void *), void *data) {
  bool gpu = agent.handle == GPU;
  hsa_amd_memory_pool_t pools[] = {{gpu ? GPU_MEMORY : CPU_FINE_GRAINED}, {gpu ? GPU_LDS : CPU_COARSE_GRAINED}};
  hsa_status_t status = callback(pools[0], data);
  return status == HSA_STATUS_SUCCESS ? callback(pools[1], data) : status;
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t asked, void *value) {
  bool lds = pool.handle == GPU_LDS;
  switch (asked) {
  case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
    ANSWER(uint32_t, lds ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
    ANSWER(uint32_t, pool.handle == CPU_FINE_GRAINED
                         ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED
                         : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_SIZE:
  case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
    ANSWER(size_t, lds ? LDS_SIZE : POOL_SIZE);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
    ANSWER(bool, !lds);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
    ANSWER(size_t, PAGE);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
    ANSWER(bool, pool.handle == CPU_FINE_GRAINED || pool.handle == CPU_COARSE_GRAINED);
    break;
  default:
    ANSWER(uint32_t, 0);
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                                hsa_amd_agent_memory_pool_info_t asked, void *value) {
  bool access = asked == HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS;
  ANSWER(uint32_t, access ? HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT : 0);
  return HSA_STATUS_SUCCESS;
}

/* Allocates zeroed memory of whole pages, at least one page. */
static void *pages(size_t size) {
  size = size ? (size + PAGE - 1) / PAGE * PAGE : PAGE;
  void *memory = aligned_alloc(PAGE, size);
  return memory ? memset(memory, 0, size) : NULL;
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **out) {
  *out = size > POOL_SIZE ? NULL : pages(size);
  return *out ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t hsa_amd_memory_pool_free(void *memory) {
  free(memory);
  return HSA_STATUS_SUCCESS;
}

/* The GPU accesses host memory at the same addresses as the host. */
hsa_status_t hsa_amd_memory_lock_to_pool(void *host, size_t size, hsa_agent_t *agents, int count,
                                         hsa_amd_memory_pool_t pool, uint32_t flags, void **device) {
  *device = host;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_copy(void *to, const void *from, size_t size) {
  memmove(to, from, size);
  return HSA_STATUS_SUCCESS;
}

/* ---- Signals: HIP accesses them directly, so they have AMD's layout ---- */

/* The queues. The last element is always NULL. */
static hsa_queue_t *queues[64];

static amd_signal_t *signal_of(hsa_signal_t handle) { return (amd_signal_t *)handle.handle; }

hsa_status_t hsa_signal_create(hsa_signal_value_t initial, uint32_t count, const hsa_agent_t *consumers,
                               hsa_signal_t *out) {
  amd_signal_t *signal = pages(sizeof *signal);
  signal->kind = AMD_SIGNAL_KIND_USER;
  signal->value = initial;
  out->handle = (uint64_t)signal;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial, uint32_t count, const hsa_agent_t *consumers,
                                   uint64_t attributes, hsa_signal_t *out) {
  return hsa_signal_create(initial, count, consumers, out);
}

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal) {
  return signal.handle ? signal_of(signal)->value : 0;
}

void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  if (signal.handle)
    signal_of(signal)->value = value;
}

void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) {
  hsa_signal_store_relaxed(signal, value);
  for (hsa_queue_t *const *queue = queues; *queue; ++queue)
    if ((*queue)->doorbell_signal.handle == signal.handle)
      look_at_packet((hsa_kernel_dispatch_packet_t *)(*queue)->base_address + value % (*queue)->size);
}

void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  hsa_signal_store_relaxed(signal, value);
}

void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { signal_of(signal)->value += value; }

void hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { signal_of(signal)->value -= value; }

/* Nothing else will ever store into the signal, so a wait ends immediately, as if the work had been done. */
hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                             hsa_signal_value_t compared, uint64_t timeout, hsa_wait_state_t state) {
  hsa_signal_store_relaxed(signal, 0);
  return 0;
}

/* A copy is complete before the call returns. */
hsa_status_t hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                                       size_t size, uint32_t count, const hsa_signal_t *before, hsa_signal_t completed) {
  memmove(to, from, size);
  hsa_signal_store_relaxed(completed, 0);
  return HSA_STATUS_SUCCESS;
}

/* ---- Queues: HIP writes each packet into the queue's first slot ---- */

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*on_error)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_size,
                              uint32_t group_size, hsa_queue_t **out) {
  hsa_queue_t *queue = pages(sizeof *queue);
  queue->size = size;
  queue->base_address = pages((size_t)size * QUEUE_PACKET);
  hsa_signal_create(0, 0, NULL, &queue->doorbell_signal);
  for (size_t i = 0; i + 1 < sizeof queues / sizeof *queues; ++i)
    if (!queues[i]) {
      queues[i] = queue;
      break;
    }
  *out = queue;
  return HSA_STATUS_SUCCESS;
}

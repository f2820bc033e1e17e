//! A program in which cudarc creates the contexts, the streams and the memory. `offload_gpu::run`
//! loads modules and launches kernels. Some commands pass cudarc's buffers directly to kernels. The
//! driver's log shows how these launches are ordered with cudarc's own work.

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use half::f16;
use offload_gpu::run::{Device, Launch, devices};
use offload_gpu::types::float4;
use offload_gpu::{AnyArgument, DeviceBuffer, DeviceId};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, thread};

mod kernels {
    offload_gpu::include_kernels!("math");
}

mod halves {
    offload_gpu::include_kernels!("halves");
}

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let command = env::args().nth(1).unwrap();
    let result = match &*command {
        "primary" => primary(),
        "threads" => threads(),
        "own" => own(),
        "again" => again(),
        "outlived" => outlived(),
        "null" => null(),
        _ => World::new().and_then(|world| match &*command {
            "by_cudarc" => world.by_cudarc(),
            "by_offload" => world.by_offload(),
            "other_stream" => world.other_stream(),
            "views" => world.views(),
            "named" => world.named(),
            "untracked" => world.untracked(),
            "refused" => world.refused(),
            "elsewhere" => world.elsewhere(),
            "failing" => world.failing(),
            "halves" => world.halves(),
            other => Err(format!("no such command: {other}").into()),
        }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn device(context: &CudaContext) -> Result<Device> {
    // SAFETY: each caller drops the device before the context, or explains why it does not.
    Ok(unsafe { Device::from_cuda_context(context.cu_ctx().cast())? })
}

/// Returns the number of correct elements out of 1000.
fn saxpy(device: &Device, stream: &Arc<CudaStream>) -> Result<usize> {
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let x: CudaSlice<f32> = stream.clone_htod(&numbers)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(1000)?;
    {
        let ((x, _x), (y, _y)) = (x.device_ptr(stream), y.device_ptr_mut(stream));
        let call = kernels::saxpy(1000, 3.0, x as *const f32, y as *mut f32);
        let launch = Launch::new(4, 256).stream(stream.cu_stream().cast());
        // SAFETY: the kernel accesses the first 1000 elements of `x` and `y`, and each has 1000.
        unsafe { call.launch_as(device, &launch)? };
    }
    let y = stream.clone_dtoh(&y)?;
    Ok(numbers.iter().zip(y).filter(|(x, y)| *x * 3.0 == *y).count())
}

/// Uses the primary context, which all libraries share, so the device equals the one in the list.
fn primary() -> Result {
    let context = CudaContext::new(1)?;
    let device = device(&context)?;
    println!("{device}: {} of 1000", saxpy(&device, &context.new_stream()?)?);
    println!("{device}: {} of 1000", saxpy(&device, &context.default_stream())?);
    let listed = devices().list()[1].clone();
    println!("{listed}: {} of 1000", saxpy(&listed, &context.default_stream())?);
    // The device itself retains the context, so the device stays usable.
    drop(context);
    let buffer = device.buffer(&[1.0_f32, 2.0])?;
    println!("{:?}", buffer.to_vec()?);
    Ok(())
}

/// Uses two devices. Some threads have no current context. On others, the other GPU's context is
/// current.
fn threads() -> Result {
    let contexts = [CudaContext::new(0)?, CudaContext::new(1)?];
    let borrowed = [device(&contexts[0])?, device(&contexts[1])?];
    thread::scope(|scope| {
        let work = |number: usize| {
            if number >= 2 {
                contexts[1 - number % 2].bind_to_thread().unwrap();
            }
            let device = &borrowed[number % 2];
            let buffer = device.buffer(&[number as f32; 10]).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), [number as f32; 10]);
            saxpy(device, &contexts[number % 2].default_stream()).map_err(|error| error.to_string())
        };
        let started: Vec<_> = (0..8).map(|number| scope.spawn(move || work(number))).collect();
        started.into_iter().for_each(|thread| println!("{:?}", thread.join().unwrap()));
    });
    Ok(())
}

/// Uses the program's own context in addition to the primary context. The module is loaded once for
/// each of the two contexts.
fn own() -> Result {
    let context = CudaContext::new_non_primary(0, 0)?;
    let own = device(&context)?;
    let same = device(&context)?;
    println!("{}", saxpy(&own, &context.new_stream()?)?);
    println!("{}", saxpy(&same, &context.default_stream())?);
    let primary = Device::named("cuda:0")?;
    // `primary` uses the primary context. The stream and the memory that cudarc creates belong to
    // the program's own context.
    for device in [&own, &primary] {
        println!("{}", device.buffer(&[1.0_f32])?.to_vec()?[0]);
    }
    kernels::PACK.on(&primary)?;
    println!("{}", saxpy(&own, &context.default_stream())?);
    drop((own, same, primary));
    Ok(())
}

/// Creates three contexts, each after the previous one was destroyed, and prints whether all of
/// them have the same address.
fn again() -> Result {
    let mut handles = Vec::new();
    for _ in 0..3 {
        let context = CudaContext::new_non_primary(0, 0)?;
        handles.push(context.cu_ctx());
        let device = device(&context)?;
        println!("{}", saxpy(&device, &context.default_stream())?);
    }
    println!("{}", handles.windows(2).all(|pair| pair[0] == pair[1]));
    Ok(())
}

/// Drops a device and a buffer after their context was destroyed. At this time, a second context
/// has the destroyed context's address.
fn outlived() -> Result {
    let first = CudaContext::new_non_primary(0, 0)?;
    let handle = first.cu_ctx();
    let device_of_first = device(&first)?;
    println!("{}", saxpy(&device_of_first, &first.default_stream())?);
    let buffer = device_of_first.buffer(&[1.0_f32; 100])?;
    drop(first);
    let second = CudaContext::new_non_primary(0, 0)?;
    println!("{}", handle == second.cu_ctx());
    let device_of_second = device(&second)?;
    println!("{}", saxpy(&device_of_second, &second.default_stream())?);
    drop((buffer, device_of_first));
    println!("{}", saxpy(&device_of_second, &second.default_stream())?);
    Ok(())
}

fn null() -> Result {
    // SAFETY: a null context causes an error, and is never used.
    unsafe { Device::from_cuda_context(std::ptr::null_mut()) }?;
    Ok(())
}

struct World {
    context: Arc<CudaContext>,
    device: Device,
    /// Streams 1 and 2. The buffers are created on stream 1.
    streams: [Arc<CudaStream>; 2],
}

/// The buffers. In the log, events 1 and 2 mark the last read and the last write of `x`. Events 3
/// and 4 mark those of `y`.
struct Vectors {
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

/// A buffer type of the program's own, such as the one in dfdx.
struct Wrapper<T>(CudaSlice<T>);

impl<T> DeviceBuffer for Wrapper<T> {
    type Item = T;

    fn device_address(&self) -> *const T {
        self.0.device_address()
    }

    fn device_id(&self) -> DeviceId {
        self.0.device_id()
    }

    fn for_reading(&self) -> (*const T, Option<offload_gpu::BufferEvent>) {
        self.0.for_reading()
    }

    fn for_writing(&mut self) -> (*mut T, Option<offload_gpu::BufferEvent>) {
        self.0.for_writing()
    }
}

impl World {
    fn new() -> Result<Self> {
        let context = CudaContext::new_non_primary(0, 0)?;
        let streams = [context.new_stream()?, context.new_stream()?];
        // SAFETY: the context lives as long as `Self`.
        let device = unsafe { Device::from_cuda_context(context.cu_ctx().cast())? };
        Ok(Self { context, device, streams })
    }

    fn vectors(&self) -> Result<Vectors> {
        let x = self.streams[0].clone_htod(&[1.0; 256])?;
        let y = self.streams[0].clone_htod(&[2.0; 256])?;
        println!("made");
        Ok(Vectors { x, y })
    }

    fn launch_on(&self, stream: usize) -> Launch {
        Launch::new(1, 256).stream(self.streams[stream].cu_stream().cast())
    }

    /// Prints how many elements have the expected value.
    fn print(&self, y: &CudaSlice<f32>, expected: f32) -> Result {
        let y = self.streams[0].clone_dtoh(y)?;
        println!("{}", y.iter().filter(|y| **y == expected).count());
        Ok(())
    }

    fn by_cudarc(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        let image = kernels::PACK.select(&self.device.info())?;
        let module = self.context.load_module(Ptx::from_binary(image.bytes().to_vec()))?;
        let function = module.load_function("saxpy")?;
        let config =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.streams[0].launch_builder(&function);
        launch.arg(&256).arg(&3.0_f32).arg(&x).arg(&mut y);
        unsafe { launch.launch(config)? };
        self.print(&y, 5.0)
    }

    fn by_offload(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        // SAFETY: the kernel accesses 256 elements of each buffer, and each has 256. The other
        // launches also stay within their buffers.
        unsafe {
            kernels::saxpy(256, 3.0, &x, &mut y).launch_as(&self.device, &self.launch_on(0))?
        };
        self.print(&y, 5.0)
    }

    /// Drops both buffers right after the launch, which must be allowed.
    fn other_stream(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        unsafe {
            kernels::saxpy(256, 3.0, &x, &mut y).launch_as(&self.device, &self.launch_on(1))?
        };
        drop((x, y));
        Ok(())
    }

    /// Launches on the default stream, for which cudarc's streams do not wait automatically.
    fn views(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        {
            let (half, mut other) = (x.slice(..128), y.slice_mut(128..));
            let call = kernels::saxpy(128, 3.0, &half, &mut other);
            let on_any_thread: &(dyn Send + Sync) = &call;
            let _ = on_any_thread;
            unsafe { call.launch(&self.device, 1, 128)? };
        }
        // A view for writing may also be passed for reading.
        let (first, mut last) = (Wrapper(x), y.slice_mut(..1));
        unsafe { kernels::saxpy(1, 4.0, &first, &mut last).launch(&self.device, 1, 1)? };
        unsafe {
            kernels::saxpy(1, 5.0, &last, &mut Wrapper(self.streams[0].alloc_zeros(1)?)).launch(
                &self.device,
                1,
                1,
            )?
        };
        self.print(&y, 5.0)?;
        self.print(&y, 6.0)
    }

    fn named(self) -> Result {
        fn pass(
            call: offload_gpu::NamedKernel,
            x: impl AnyArgument,
            y: impl AnyArgument,
        ) -> Result<offload_gpu::NamedCall> {
            Ok(call.call((256, 3.0_f32, x, y))?)
        }
        let Vectors { x, mut y } = self.vectors()?;
        let kernel = kernels::named("saxpy")?;
        unsafe { pass(kernel, &x, &mut y)?.launch_as(&self.device, &self.launch_on(1))? };
        self.print(&y, 5.0)?;
        let refused = pass(kernel, &self.streams[0].alloc_zeros::<f64>(1)?, &mut y).unwrap_err();
        println!("{refused}");
        Ok(())
    }

    /// Switches off event tracking, like a program that orders its streams itself.
    fn untracked(self) -> Result {
        // SAFETY: the stand-in completes each operation immediately.
        unsafe { self.context.disable_event_tracking() };
        let Vectors { x, mut y } = self.vectors()?;
        unsafe {
            kernels::saxpy(256, 3.0, &x, &mut y).launch_as(&self.device, &self.launch_on(1))?
        };
        // This buffer keeps its events, because it is created with tracking.
        unsafe { self.context.enable_event_tracking() };
        let Vectors { x: later, .. } = self.vectors()?;
        unsafe { self.context.disable_event_tracking() };
        println!("disabled");
        unsafe {
            kernels::saxpy(256, 3.0, &later, &mut y).launch_as(&self.device, &self.launch_on(1))?
        };
        self.print(&y, 8.0)
    }

    /// A launch that is refused must not wait for events or record any.
    fn refused(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        let call = kernels::saxpy(256, 3.0, &x, &mut y);
        let result = unsafe { call.launch(&self.device, 1, 2048) };
        println!("{}", result.unwrap_err());
        Ok(())
    }

    /// Launches with a buffer, a view and a wrapped buffer of the second GPU.
    fn elsewhere(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        let stream = CudaContext::new_non_primary(1, 0)?.new_stream()?;
        let mut there = stream.alloc_zeros::<f32>(1)?;
        for call in [
            kernels::saxpy(1, 3.0, &x, &mut there),
            kernels::saxpy(1, 3.0, &there.slice(..1), &mut y),
            kernels::saxpy(1, 3.0, &x, &mut there.slice_mut(..1)),
            kernels::saxpy(1, 3.0, &Wrapper(there), &mut y),
        ] {
            // SAFETY: the launch is refused.
            let result = unsafe { call.launch(&self.device, 1, 1) };
            println!("{}", result.unwrap_err());
        }
        Ok(())
    }

    /// Launches on a stream of a different context. This stream cannot wait for the buffers.
    fn failing(self) -> Result {
        let Vectors { x, mut y } = self.vectors()?;
        let stream = CudaContext::new_non_primary(0, 0)?.new_stream()?;
        let call = kernels::saxpy(256, 3.0, &x, &mut y);
        let launch = Launch::new(1, 256).stream(stream.cu_stream().cast());
        let result = unsafe { call.launch_as(&self.device, &launch) };
        println!("{}", result.unwrap_err());
        Ok(())
    }

    /// Passes cudarc's buffers of vectors, and its views of numbers as vectors. Only the types
    /// matter here.
    #[allow(dead_code)]
    fn fours(&self, numbers: &mut CudaSlice<f32>) -> Result {
        let stream = &self.streams[0];
        let mut fours: CudaSlice<float4> = stream.alloc_zeros(2)?;
        stream.memcpy_htod(&[float4::from([1.0; 4]); 2], &mut fours)?;
        let count = numbers.len() / 4;
        // SAFETY: a vector consists of four numbers.
        let _ =
            halves::fours(&fours, &mut unsafe { numbers.transmute_mut::<float4>(count) }.unwrap());
        // SAFETY: as above.
        let _ = halves::fours(&unsafe { numbers.transmute::<float4>(count) }.unwrap(), &mut fours);
        Ok(())
    }

    fn halves(self) -> Result {
        let stream = &self.streams[0];
        let bits: CudaSlice<u16> = stream.clone_htod(&[f16::ONE.to_bits(); 2])?;
        // SAFETY: both types have the same size, and all bit patterns are valid.
        let mut halves: CudaSlice<f16> = unsafe { stream.upgrade_device_ptr(bits.leak(), 2) };
        let bits: CudaSlice<u16> = stream.alloc_zeros(2)?;
        let launch = self.launch_on(0);
        // SAFETY: the stand-in does not run this kernel.
        unsafe { halves::halve(2, &bits, &mut halves).launch_as(&self.device, &launch)? };
        let call = halves::named("halve")?.arg(2)?.arg(&halves)?.arg(&mut halves)?;
        // SAFETY: as above.
        unsafe { call.launch_as(&self.device, &launch)? };
        println!("{:x} {:x}", bits.device_address().addr(), halves.device_address().addr());
        Ok(())
    }
}

/* Finds variables of images as a driver does: by the symbols of code objects and cubins, and by PTX's declarations. */
#ifndef VARIABLES_H
#define VARIABLES_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocates memory for a variable of an ELF file, with the file's value, or returns NULL. Drivers ignore local symbols. */
static char *elf_variable(const unsigned char *image, const char *name, size_t *bytes) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  const unsigned char *table = image + header.e_shoff;
#define SECTION(number, to) memcpy(&(to), table + (number) * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr))
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr symbols, names, section;
    SECTION(i, symbols);
    /* In a code object, drivers find only dynamic symbols. A cubin has only one table of symbols. */
    if (symbols.sh_type != (header.e_machine == EM_CUDA ? SHT_SYMTAB : SHT_DYNSYM))
      continue;
    SECTION(symbols.sh_link, names);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, image + symbols.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
          symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
          strcmp((const char *)image + names.sh_offset + symbol.st_name, name))
        continue;
      SECTION(symbol.st_shndx, section);
      char *memory = calloc(1, symbol.st_size + 1);
      if (section.sh_type != SHT_NOBITS)
        memcpy(memory, image + section.sh_offset + (symbol.st_value - section.sh_addr), symbol.st_size);
      *bytes = symbol.st_size;
      return memory;
    }
  }
  return NULL;
}

/* Allocates memory for a variable of PTX, or returns NULL. The initial value is ignored, and all bytes are 0. */
__attribute__((unused)) static char *ptx_variable(const char *image, size_t size, const char *name, size_t *bytes) {
  char *text = strndup(image, size), *memory = NULL, *rest;
  size_t length = strlen(name);
  for (char *line = strtok_r(text, "\n", &rest); line && !memory; line = strtok_r(NULL, "\n", &rest)) {
    char *word = strstr(line, name);
    int is_visible = !strncmp(line, ".visible", 8) || !strncmp(line, ".weak", 5);
    int is_variable = strstr(line, " .global ") || strstr(line, " .const ");
    if (!word || !is_visible || !is_variable || word[-1] != ' ' || !strchr("[; ", word[length]))
      continue;
    unsigned bits = 0;
    size_t count = 1;
    char *type = word - 1;
    while (*type != '.')
      --type;
    sscanf(type + 2, "%u", &bits);
    if (word[length] == '[')
      sscanf(word + length + 1, "%zu", &count);
    *bytes = bits / 8 * count;
    memory = calloc(1, *bytes + 1);
  }
  free(text);
  return memory;
}

#endif

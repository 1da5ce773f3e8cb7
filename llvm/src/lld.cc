// LLD's ELF driver behind a C function. It is a C++ library: nothing but this can call it.
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <cstring>
#include <string>

LLD_HAS_DRIVER(elf)

// argv[0] must be "ld.lld". Returns 0 when the link went well. *message is malloc'ed, never null.
extern "C" int xreduce_lld_link(const char *const *argv, size_t argc, char **message) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(llvm::ArrayRef<const char *>(argv, argc), stream, stream, drivers);
  stream.flush();
  *message = strdup(text.c_str());
  return result.retCode;
}

// Whether LLVM knows a processor: its C interface takes any name, and the disassembler ends the process on one it does not know.
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"
#include <memory>
#include <string>

// The target of the triple must have been initialised.
extern "C" int xreduce_knows_processor(const char *triple, const char *processor) {
  std::string error;
  llvm::Triple parsed{llvm::StringRef(triple)};
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target) return 0;
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(parsed, "", ""));
  return info && info->isCPUStringValid(processor);
}

#pragma once

// AMX multiplies tiles: eight registers of 16 rows of 64 bytes.

namespace sixfold {

/// The products of tiles that this process may use.
struct AmxSupport {
  bool bf16 = false, int8 = false;
};

/// What the processor and the system support. On the first call asks the system for the permission that a
/// process needs. Supports nothing if the process is limited to an instruction set below that which every
/// processor with AMX has.
AmxSupport amx_support();

/// Makes all eight tiles 16 rows of 64 bytes. A thread calls it before it uses tiles.
void begin_tiles();
/// Gives the tiles up. A thread calls it when it has used them.
void end_tiles();

}  // namespace sixfold

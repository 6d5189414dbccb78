#pragma once
#include <string>

#include "families/families.h"
#include "families/marian.h"

namespace sixfold {

/// Makes the model folder `output` of a model of another program: reads it, finds the decoder layer that aligns
/// words if it translates (`with_alignment_layer`), and writes the folder, or nothing. Prints what is not
/// supported but harmless. Returns the name of what was read. Throws an input error that names the key, file or
/// tensor that is not supported.
std::string import_model(const ImportSource& source, const std::string& output,
                         Families families = sixfold::families());

/// `import_model` for a folder of Hugging Face. The families say which (families/families.h).
void import_hugging_face(const std::string& folder, const std::string& output);

/// The same for a model of Marian whose files and settings the caller names.
void import_marian(const MarianFiles& files, const std::string& output);

}  // namespace sixfold

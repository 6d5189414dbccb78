#pragma once
#include <string>

#include "families/families.h"
#include "families/marian.h"

namespace sixfold {

/// Converts a model of another program to the model folder `output`. For a translation model, also finds the
/// decoder layer that aligns words (`with_alignment_layer`). Writes either the whole folder or nothing. Logs
/// unsupported features that do no harm. Returns the name of the original format. Throws an input error that
/// names the key, file or tensor that is not supported.
std::string import_model(const ImportSource& source, const std::string& output,
                         Families families = sixfold::families());

/// `import_model` for a folder in the format of Hugging Face. families/families.h lists the supported models.
void import_hugging_face(const std::string& folder, const std::string& output);

/// The same for a Marian model with the given files and settings.
void import_marian(const MarianFiles& files, const std::string& output);

}  // namespace sixfold

#pragma once
#include "families/family.h"

// The rows of the table of families, each defined in the file of its family.

namespace sixfold {

Family marian_family();     // marian.cc
Family marian_mt_family();  // marian_mt.cc
Family gpt2_family();       // gpt2.cc
Family llama_family();      // llama.cc
Family mistral_family();    // llama.cc

}  // namespace sixfold

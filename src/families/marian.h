#pragma once
#include <string>
#include <vector>

#include "families/family.h"

namespace sixfold {

/// The files of a Marian model and the settings of its decoder (marian-nmt.github.io).
struct MarianFiles {
  std::string model;                ///< .npz or .bin
  std::vector<std::string> vocabs;  ///< of source and target: .spm, or .yml
  /// SentencePiece models of source and target that segment the text, if the vocabularies are .yml files.
  /// Empty: the text is already segmented into tokens separated by spaces.
  std::vector<std::string> sentence_pieces = {};
  // Settings of the decoder, with Marian's defaults:
  int beam_size = 12;
  double normalize = 0;          ///< scores are divided by n^normalize
  double max_length_factor = 3;  ///< maximum length of the output / length of the source
  bool allow_unk = false;
  std::vector<std::string> shortlist = {};  ///< a file, and perhaps numbers (`read_marian_shortlist`)
  /// Notes about settings that programs around Marian support and Sixfold does not.
  std::vector<std::string> notes = {};
};

/// Reads a decoder.yml, or a config.bergamot.yml as Firefox has it. Throws an input error for settings that
/// change translations and are not supported (several models, word penalty, ...).
MarianFiles read_marian_decoder_config(const std::string& path);

/// The files that are read, which the output of an import must not replace. Throws an input error unless there
/// are as many vocabularies as a model has.
std::vector<std::string> inputs_of(const MarianFiles& files);

/// Reads a model that Marian trained with --type transformer, and its generation settings. Throws an input
/// error that names the option or tensor that is not supported.
Imported read_marian(const MarianFiles& files);

}  // namespace sixfold

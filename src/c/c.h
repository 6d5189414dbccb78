/* The C interface of Sixfold, for C programs and for the foreign functions of other languages: libsixfold_c.so
 * (docs/library.md). Its ABI is stable: a program that was linked with it runs with each later version that has
 * the same SIXFOLD_ABI, which is also the number in the library's name, libsixfold_c.so.1.
 *
 * Texts are UTF-8. A function that takes several texts has as arguments an array of them, an array of their
 * sizes in bytes, which may be NULL if each text ends with a NUL, and their number. Names of files, keys and
 * values end with a NUL.
 *
 * A function that may fail returns a code, or NULL in place of a handle or text; none of them throws an
 * exception or ends the program. An argument may be NULL only where that is said; elsewhere NULL is an error.
 * Freeing NULL does nothing.
 *
 * Models and results may be used by several threads at once, and options too while no thread sets one. A handle
 * is freed once, when no call uses it. Callbacks must not throw or jump out of the library. Warnings and the
 * progress of a training go to standard error. */
#ifndef SIXFOLD_C_H
#define SIXFOLD_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIXFOLD_ABI 1

/* The SIXFOLD_ABI of the library, and its version, such as "0.3.0". */
int sixfold_abi(void);
const char* sixfold_version(void);

enum {
  SIXFOLD_OK = 0,
  SIXFOLD_INPUT_ERROR = 1,       /* an argument, option, file or model is wrong */
  SIXFOLD_ENVIRONMENT_ERROR = 2, /* no memory, a full disk, and the like */
  SIXFOLD_PROGRAM_ERROR = 3,     /* a mistake in Sixfold */
  SIXFOLD_STOPPED = 4            /* a callback has requested it */
};

/* The last call on this thread that failed: its code, and what is wrong, where, and how to fix it. SIXFOLD_OK
 * and an empty text if none has failed. The text is valid until the next call that fails on this thread. */
int sixfold_error_code(void);
const char* sixfold_error_message(void);

/* Options by name, with values as text: "beam_size", "4". The name of an option in a group is
 * written with dots: "generation.length_penalty". The call that gets the options reads them, and fails if it
 * does not know a name or can't read a value; messages write an option as the command line does:
 * "--set beam_size=4". Where a function takes options, NULL stands for none. */
typedef struct sixfold_options sixfold_options;
sixfold_options* sixfold_options_new(void);
int sixfold_options_set(sixfold_options* options, const char* name, const char* value);
void sixfold_options_free(sixfold_options* options);

/* Models, each opened from a model folder. Options: threads (of one call; 0: all processor cores), precision
 * (stored, fp32, int8 or int4). */
typedef struct sixfold_translator sixfold_translator;
typedef struct sixfold_generator sixfold_generator;
typedef struct sixfold_classifier sixfold_classifier;
typedef struct sixfold_embedder sixfold_embedder;
sixfold_translator* sixfold_translator_open(const char* folder, const sixfold_options* options);
sixfold_generator* sixfold_generator_open(const char* folder, const sixfold_options* options);
sixfold_classifier* sixfold_classifier_open(const char* folder, const sixfold_options* options);
sixfold_embedder* sixfold_embedder_open(const char* folder, const sixfold_options* options);
void sixfold_translator_free(sixfold_translator* translator);
void sixfold_generator_free(sixfold_generator* generator);
void sixfold_classifier_free(sixfold_classifier* classifier);
void sixfold_embedder_free(sixfold_embedder* embedder);

/* Translates lines. Bytes that are not UTF-8 count as U+FFFD. Options: those of `visit` of TranslateOptions
 * (beam_size, n_best, target_language, ...), and the group "generation" with those of GenerationConfig
 * (length_penalty, ...). */
typedef struct sixfold_translations sixfold_translations;
sixfold_translations* sixfold_translate(const sixfold_translator* translator, const char* const* lines,
                                        const size_t* sizes, size_t count, const sixfold_options* options);
/* The translations of a line, best first: their number (0 after an error), a text and its score (NaN after an
 * error). A text is valid as long as `translations`, and ends with a NUL; `size`, if not NULL, gets its size in
 * bytes. */
size_t sixfold_translations_of(const sixfold_translations* translations, size_t line);
const char* sixfold_translations_text(const sixfold_translations* translations, size_t line, size_t rank,
                                      size_t* size);
double sixfold_translations_score(const sixfold_translations* translations, size_t line, size_t rank);
void sixfold_translations_free(sixfold_translations* translations);

enum { SIXFOLD_LINE = 0, SIXFOLD_NONE_YET = 1, SIXFOLD_END = 2 };
/* Supplies the next line, in a buffer that is valid until the next call: returns SIXFOLD_LINE; SIXFOLD_NONE_YET
 * if there may be one later; SIXFOLD_END; or any other number, to stop. If `wait` is 0 it returns at once,
 * since there is other work to do; else it may wait about 50 milliseconds for a line. */
typedef int (*sixfold_next_line)(void* data, int wait, const char** line, size_t* size);
/* Receives the translations of a line, counted from 0, as line 0 of `translations`, which are valid during the
 * call. Returns 0 to go on. */
typedef int (*sixfold_line_translated)(void* data, size_t line, const sixfold_translations* translations);
/* Translates a stream of lines, and passes each on as soon as it and all lines before it are ready. Calls both
 * callbacks on this thread, with `data`. Options: those of sixfold_translate. */
int sixfold_translate_stream(const sixfold_translator* translator, sixfold_next_line next,
                             sixfold_line_translated receive, void* data, const sixfold_options* options);

/* Receives a piece of the text that a prompt is continued with: whole characters, without a NUL at the end.
 * Returns 0 to go on. It is called on any thread, but never by two at once. */
typedef int (*sixfold_piece_generated)(void* data, size_t prompt, size_t sample, const char* text, size_t size);
/* Continues prompts, which may be empty. `receive` may be NULL. Options: those of `visit` of GenerateOptions
 * (max_tokens, temperature, samples, seed, ...). */
typedef struct sixfold_generated sixfold_generated;
sixfold_generated* sixfold_generate(const sixfold_generator* generator, const char* const* prompts,
                                    const size_t* sizes, size_t count, const sixfold_options* options,
                                    sixfold_piece_generated receive, void* data);
/* The number of texts of a prompt, and one of them, as sixfold_translations_text. For a prompt that the model
 * can't continue there is none, and the error says why. */
size_t sixfold_generated_of(const sixfold_generated* generated, size_t prompt);
const char* sixfold_generated_text(const sixfold_generated* generated, size_t prompt, size_t sample,
                                   size_t* size);
void sixfold_generated_free(sixfold_generated* generated);

/* The number of labels of a classifier of texts (0 after an error), and each of them. A label is valid as long
 * as the classifier. */
size_t sixfold_classifier_labels(const sixfold_classifier* classifier);
const char* sixfold_classifier_label(const sixfold_classifier* classifier, size_t label);
/* Writes the probability of each label for each text to `probabilities` [count, labels], which has room for
 * `room` numbers. Fails at the first text that has no label, such as an empty one, and then writes nothing. */
int sixfold_classify(const sixfold_classifier* classifier, const char* const* texts, const size_t* sizes,
                     size_t count, double* probabilities, size_t room);

/* The number of values of an embedding; 0 after an error. */
size_t sixfold_embedder_size(const sixfold_embedder* embedder);
/* Writes the embedding of each text to `values` [count, size], which has room for `room` numbers. Fails at the
 * first text that has no embedding, and then writes nothing. */
int sixfold_embed(const sixfold_embedder* embedder, const char* const* texts, const size_t* sizes, size_t count,
                  float* values, size_t room);

/* Trains as a config in YAML or JSON says, with the keys of `sixfold train --options`; the model is in
 * RUN/model. Options: resume, other_processor and fit, as those of `sixfold train`. `stop`, which may be NULL,
 * is called by another thread with `data`, about 20 times a second; when it returns a nonzero number, the
 * training saves its state and returns SIXFOLD_STOPPED. */
int sixfold_train(const char* config, const char* run, const sixfold_options* options, int (*stop)(void* data),
                  void* data);

#ifdef __cplusplus
}
#endif

#endif

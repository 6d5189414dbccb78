/* Translates standard input line by line with a model folder, by the C interface. */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <sixfold/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
  char* text;
  size_t room;
};

static int next_line(void* data, int wait, const char** line, size_t* size) {
  struct buffer* buffer = data;
  (void)wait; /* a line of standard input is waited for in any case */
  if (getline(&buffer->text, &buffer->room, stdin) < 0) return SIXFOLD_END;
  *line = buffer->text;
  *size = strcspn(buffer->text, "\n");
  return SIXFOLD_LINE;
}

static int print_line(void* data, size_t line, const sixfold_translations* translations) {
  (void)data, (void)line;
  return puts(sixfold_translations_text(translations, 0, 0, NULL)) < 0;
}

int main(int argc, char** argv) {
  struct buffer buffer = {NULL, 0};
  int code = SIXFOLD_INPUT_ERROR;
  if (argc != 2) {
    fprintf(stderr, "usage: translate MODEL <text >translation\n");
    return code;
  }
  sixfold_translator* translator = sixfold_translator_open(argv[1], NULL);
  if (translator) code = sixfold_translate_stream(translator, next_line, print_line, &buffer, NULL);
  if (code != SIXFOLD_OK) fprintf(stderr, "%s\n", sixfold_error_message());
  sixfold_translator_free(translator);
  free(buffer.text);
  return code;
}

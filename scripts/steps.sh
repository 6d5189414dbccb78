# Read by the scripts of this folder: what they print. Each step is said with an estimate of its time on two cores; its
# progress is on one line of a terminal, and its whole output in build/logs/NAME.log, which is shown where the step fails.
# shellcheck shell=bash

logs=$PWD/build/logs
begun=$SECONDS

minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# step NAME "what is done" ESTIMATE COMMAND...: the estimate is a text such as "2 min"
step() {
  local name=$1 what=$2 estimate=$3 status start=$SECONDS
  shift 3
  mkdir -p "$logs"
  printf '== %s (about %s)\n' "$what" "$estimate"
  set +e  # in "if" or "||" the commands of a function would not end it where they fail
  if [[ -t 1 ]]; then
    (set -e; "$@") 2>&1 | tee "$logs/$name.log" | awk -W interactive -v width="$(($(tput cols 2>/dev/null || echo 80) - 1))" '{ printf "\r\033[K%s", substr($0, 1, width); fflush() } END { printf "\r\033[K" }'
  else
    (set -e; "$@") >"$logs/$name.log" 2>&1
  fi
  status=$?
  set -e
  if ((status)); then
    echo "-- FAILED: $what, with status $status. The end of build/logs/$name.log:"
    tail -n "${lines_of_failure:-60}" "$logs/$name.log"
    exit 1
  fi
  printf -- '-- %s: done in %s\n' "$what" "$(minutes $((SECONDS - start)))"
}

configure_and_build() {  # PRESET TARGET...
  local preset=$1 targets=()
  shift
  for target in "$@"; do targets+=(--target "$target"); done
  cmake --preset "$preset" && cmake --build --preset "$preset" "${targets[@]}"
}

# Leaves in build/tidy how each source is compiled by itself, and not in a group.
configure_each_by_itself() {
  cmake -S . -B build/tidy -G Ninja -DSIXFOLD_GROUPS=OFF -DSIXFOLD_TESTS=OFF -DSIXFOLD_BENCH=OFF -DCMAKE_BUILD_TYPE=Release >/dev/null
}

# run_ctest BUILD OPTION...: runs tests, leaves BUILD/tests.xml, and says the failed ones last.
run_ctest() {
  local build=$1
  shift
  rm -f "$build/tests.xml"
  ctest --test-dir "$build" --output-junit tests.xml --no-tests=error --output-on-failure --parallel $(($(nproc) + 1)) "$@"
}

# Each test of BUILD/tests.xml that was skipped, with what it printed.
skipped_tests() {
  awk '
    /<testcase / { name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name); sub(/  # GetParam.*/, "", name); skipped = 0 }
    /<skipped/ { skipped = 1 }
    skipped && reason_next { sub(/<\/system-out>.*/, ""); print name ": " $0; skipped = 0 }
    { reason_next = /: Skipped$/ }
  ' "$1/tests.xml" | sed "s/&quot;/\"/g; s/&apos;/'/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\\&/g"
}

# One line of what passed (ctest's own), and one of what was skipped and why.
say_results() {  # LOG BUILD
  grep 'tests passed' "$logs/$1.log"
  local skipped
  skipped=$(skipped_tests "$2" | sed 's/^[^:]*: //' | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\1: \2/' | paste -sd ';' | sed 's/;/; /g')
  echo "skipped: ${skipped:-nothing}"
}

# A newcomer's two days, in the minimal system that `cargo xtask newcomer` has made. The script pastes the commands and files
# that README and the guide show, and the commands that messages print. It ends at the first command that fails without a
# message that helps.
set -u
commands=0

# Runs a command as typed. Prints the last $2 lines of its output, and how long it took.
run() {
  echo "\$ $1"
  start=$(date +%s%N)
  eval "$1" </dev/null >/tmp/log 2>&1
  status=$?
  tail -n "$2" /tmp/log
  tenths=$((($(date +%s%N) - start) / 100000000))
  echo "  [status $status, $((tenths / 10)).$((tenths % 10)) s]"
}

# Like `run`, but counts the command.
type_in() {
  commands=$((commands + 1))
  run "$1" "$2"
}

# Runs a command that must succeed.
works() {
  type_in "$1" "$2"
  [ "$status" -eq 0 ] || stop "this should work: $1"
}

# Runs a command that must fail with a message that contains the text $3.
fails() {
  type_in "$1" "$2"
  [ "$status" -ne 0 ] || stop "this should fail: $1"
  grep -qF -- "$3" /tmp/log || stop "the message does not have \"$3\""
}

stop() {
  echo "newcomer: dead end: $1"
  exit 1
}

# Writes a file that a page shows: the code block after the file's name.
copy_out() {
  awk -v name="\`$1\`:" '$0 == name { found = 1 } found && /^```/ { if (inside) exit; inside = 1; next } inside' "$page" >"$1"
  [ -s "$1" ] || stop "$page shows no $1"
}

# Prints the code block of a page that begins with this text.
block() {
  awk -v text="$1" '/^```/ { if (found) exit; first = 1; next } first { found = index($0, text) == 1; first = 0 } found' "/root/offload/$2"
}

# Adds README's entries of Cargo.toml for using a checkout instead of the registry.
use_the_checkout() {
  block '[patch.crates-io]' README.md >>Cargo.toml
}

# Runs the commands of the last message, in the order of the message. They are indented below "install …:".
paste_commands() {
  grep -E '^ +(apt-get|pip3|export|sudo) ' /tmp/log | sed 's/^ *//' | awk '!seen[$0]++' >/tmp/paste
  [ -s /tmp/paste ] || stop "the command failed and printed no command that helps"
  echo "== Pasted from the message"
  while read -r line; do
    run "$line" 1
    [ "$status" -eq 0 ] || stop "a command of the message fails"
  done </tmp/paste
}

git config --global safe.directory '*'
cd /root || exit 1

echo "== The user's own kernel"
type_in "git clone -q /origin.git offload" 3
page=/root/offload/README.md
mkdir -p saxpy/kernels/include saxpy/src && cd saxpy || exit 1
for file in Cargo.toml kernels/saxpy.cu build.rs src/main.rs; do copy_out "$file"; done
use_the_checkout
type_in "cargo run" 30
if [ "$status" -ne 0 ]; then
  paste_commands
  echo "== The user's own kernel"
  type_in "cargo run" 6
  [ "$status" -eq 0 ] || stop "the build fails after all that its message says was done"
fi
type_in "cargo run -q --manifest-path ../offload/Cargo.toml -p offload-tools --bin cargo-offload -- select target/debug/saxpy --device sm_80" 4
[ "$status" -eq 0 ] || stop "cargo offload select fails"
echo "newcomer: $commands commands from git clone to the first line of select"
[ "$commands" -le 4 ] || stop "that is more than 4"

. /second_day.sh

# Makes a minimal Debian 12 with this machine's Rust in target/newcomer, and runs the two days of a newcomer in it. The script
# runs in the root of the repository, as root, in a separate mount namespace, so the mounts end with the script.
set -eu
scripts=xtask/src/newcomer folder=$PWD/target/newcomer
system=$folder/system bare=$folder/bare-with-gcc.tar certificates=etc/ssl/certs/ca-certificates.crt

for program in debootstrap chroot git; do
  command -v "$program" >/dev/null || {
    echo "newcomer needs $program, on Debian and as root: apt-get install debootstrap git" >&2
    exit 1
  }
done
if grep -q " $system/" /proc/self/mounts; then
  echo "newcomer: $system has mounts, through which removing it would remove other files: unmount them" >&2
  exit 1
fi
rm -rf "$system" "$folder/origin.git"
mkdir -p "$system"
if [ -f "$bare" ]; then
  tar -xf "$bare" -C "$system"
else
  # Tools that every user of Rust has.
  debootstrap --variant=minbase --include=git,gcc,libc6-dev,ca-certificates bookworm "$system"
  tar -cf "$bare.new" -C "$system" .
  mv "$bare.new" "$bare"
fi

# The system reaches the package registries in the same way as this machine.
for path in etc/resolv.conf etc/hosts etc/pip.conf etc/apt/sources.list.d/debian.sources etc/apt/apt.conf.d; do
  [ ! -e "/$path" ] || cp -rL "/$path" "$system/$(dirname $path)"
done
[ ! -f "/$certificates" ] || cp "/$certificates" "$system/$certificates"
# debootstrap does not list Debian's security updates, which have the newest clang. Container images of Debian 12 list them.
[ ! -f "$system/etc/apt/sources.list.d/debian.sources" ] || : >"$system/etc/apt/sources.list"

git clone -q --bare . "$folder/origin.git"
cp "$scripts"/*_day.sh "$system"
mkdir "$system/rust" "$system/origin.git"
mount --bind "$(rustc --print sysroot)" "$system/rust"
mount --bind "$folder/origin.git" "$system/origin.git"
mount -t proc proc "$system/proc"
mount --rbind /dev "$system/dev"
exec env -i HOME=/root TERM=dumb PATH=/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin CARGO_BUILD_JOBS=2 \
  PIP_CERT=/$certificates CARGO_HTTP_CAINFO=/$certificates chroot "$system" bash /first_day.sh

#!/bin/sh
# Packs the command for people who do not build it: dist.sh COMMAND FOLDER makes FOLDER/xreduce-VERSION-MACHINE.tar.zst
# of the stripped binary, its manual pages, completions and licences, laid out as below a prefix. Equal inputs give equal
# bytes; SOURCE_DATE_EPOCH is the time of the members.
set -eu
command=$1
folder=$2
cd "$(dirname "$0")/.."

# One binary for every Linux of this machine's kind: only the C library and its companions may be loaded.
strangers=$(ldd "$command" | grep -vE 'linux-vdso|ld-linux|lib(c|m|gcc_s)\.so' || true)
if [ -n "$strangers" ]; then
    echo "dist: the command needs more than libc, libm and libgcc_s:" >&2
    echo "$strangers" >&2
    exit 1
fi

name=xreduce-$("$command" --version | cut -d ' ' -f 2)-$(uname -m)
rm -rf "$folder/$name"
mkdir -p "$folder/$name/bin" "$folder/$name/share/doc/xreduce"
install -m 755 -s "$command" "$folder/$name/bin/xreduce"
"$command" documents "$folder/$name"
cp README.md LICENSE-APACHE LICENSE-MIT "$folder/$name/share/doc/xreduce"
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@${SOURCE_DATE_EPOCH:-0}" \
    -C "$folder" -cf - "$name" | zstd -q -9 -f -o "$folder/$name.tar.zst"
(cd "$folder" && sha256sum "$name.tar.zst" >SHA256SUMS)
ldd "$folder/$name/bin/xreduce"
ls -l "$folder/$name/bin/xreduce" "$folder/$name.tar.zst"

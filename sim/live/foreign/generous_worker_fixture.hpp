#pragma once

namespace leasehold::sim::live {

/// A worker in the shell's language: it grants every lock at once.
inline constexpr const char* kGenerous = R"(say() { printf '{%s}\n' "$1"; }
say '"is":"ready"'
while read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  case $line in
    *'"acquire"'*) say "\"id\":$id,\"is\":\"granted\"" ;;
    *'"ask"'*) say "\"id\":$id,\"is\":\"held\"" ;;
    *'"release"'*) say "\"id\":$id,\"is\":\"released\"" ;;
    *'"stop"'*) exit 0 ;;
  esac
done)";

}  // namespace leasehold::sim::live

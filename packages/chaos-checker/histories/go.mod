// Porcupine's published histories of Jepsen's tests of etcd, as `deploy/bin/ensure-histories` gets them. Nothing of it is compiled.
module gantry.dev/histories

go 1.26.0

require github.com/anishathalye/porcupine v1.3.1

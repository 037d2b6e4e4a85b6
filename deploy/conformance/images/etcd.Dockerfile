# The store of the sample API server: the one that the cluster itself uses.
FROM quay.io/coreos/etcd:v3.5.30

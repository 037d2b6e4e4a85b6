# Newer than the cluster's own, and the same.
FROM registry.k8s.io/pause:3.10

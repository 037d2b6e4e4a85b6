# Stand-in for sample-apiserver: compiled from the module k8s.io/sample-apiserver.
FROM busybox:1.36
COPY sample-apiserver /sample-apiserver
ENTRYPOINT ["/sample-apiserver"]

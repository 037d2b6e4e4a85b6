# Stand-in for etcd's official image: the programs of Debian testing (the build context) at the same paths.
FROM debian:trixie-slim
COPY etcd etcdctl etcdutl /usr/local/bin/
EXPOSE 2379 2380
CMD ["/usr/local/bin/etcd"]

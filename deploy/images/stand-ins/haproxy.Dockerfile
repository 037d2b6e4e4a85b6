# Stand-in for the official haproxy image: same user, same configuration path.
FROM debian:trixie-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends haproxy \
  && rm -rf /var/lib/apt/lists/* && mkdir -p /usr/local/etc/haproxy && ln -s /usr/sbin/haproxy /usr/local/sbin/haproxy
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]

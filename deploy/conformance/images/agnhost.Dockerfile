# Stand-in for agnhost: its program, compiled from Kubernetes' module, on Debian with the commands that tests run beside it.
FROM debian:trixie-slim
RUN apt-get update -q \
  && apt-get install -q -y --no-install-recommends bind9-dnsutils busybox-static ca-certificates curl iperf iproute2 \
    netcat-openbsd util-linux \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir -p /uploads /var/registry /opt/busybox && busybox --install -s /opt/busybox && ln -s /usr/bin/iperf /usr/local/bin/iperf \
  && useradd -m -u 1000 user-defined-in-image && groupadd -g 50000 group-defined-in-image \
  && usermod -a -G group-defined-in-image user-defined-in-image
# The original's smaller commands are busybox's; Debian's own come first.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/busybox
COPY files/agnhost/porter/localhost.crt files/agnhost/porter/localhost.key /
COPY agnhost /agnhost
RUN ln -s agnhost /agnhost-2
ARG VERSION
LABEL version=$VERSION
EXPOSE 80 8080 8081 9376 5000
ENTRYPOINT ["/agnhost"]
CMD ["pause"]

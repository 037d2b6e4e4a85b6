# Stand-in for the official nginx image: same port, same folders, same stop signal.
FROM debian:trixie-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends nginx-light \
  && rm -rf /var/lib/apt/lists/* /etc/nginx/sites-enabled /var/www/html \
  && mkdir -p /usr/share/nginx/html /etc/nginx/conf.d \
  && ln -sf /dev/stdout /var/log/nginx/access.log && ln -sf /dev/stderr /var/log/nginx/error.log \
  && printf '<!DOCTYPE html>\n<html><head><title>Welcome to nginx!</title></head><body><h1>Welcome to nginx!</h1></body></html>\n' \
    > /usr/share/nginx/html/index.html \
  && printf 'server {\n  listen 80;\n  location / { root /usr/share/nginx/html; index index.html; }\n}\n' \
    > /etc/nginx/conf.d/default.conf
# The version, so that tags differ as those of the official image do.
ARG VERSION
ENV NGINX_VERSION=$VERSION
EXPOSE 80
STOPSIGNAL SIGQUIT
CMD ["nginx", "-g", "daemon off;"]

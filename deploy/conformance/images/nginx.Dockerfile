# The tests' nginx is the official one under other names; the tests tell its versions apart by their names.
FROM nginx:1.27
ARG VERSION
ENV NGINX_VERSION=$VERSION

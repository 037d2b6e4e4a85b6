# Stand-in for nautilus and kitten: agnhost that serves a picture. A test of image volumes reads in the image what the
# original was made of.
FROM registry.k8s.io/e2e-test-images/agnhost:2.63.0
ARG NAME
COPY files/$NAME/html/ /
RUN printf 'VARIANT="stand-in for an image of Alpine Linux"\n' >> /usr/lib/os-release
CMD ["test-webserver"]

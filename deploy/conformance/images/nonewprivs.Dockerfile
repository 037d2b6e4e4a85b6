# Stand-in for nonewprivs: a program of root's with the set-user-id bit, which prints its effective user.
FROM busybox:1.36
COPY nonewprivs /usr/local/bin/nnp
RUN chmod 6755 /usr/local/bin/nnp
CMD ["/usr/local/bin/nnp"]

# Stand-in for regression-issue-74839: its program, compiled from Kubernetes' module.
FROM busybox:1.36
COPY regression-issue-74839 /regression-issue-74839
ENTRYPOINT ["/regression-issue-74839"]

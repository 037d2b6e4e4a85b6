/**
 * The manifest of a pod that runs a script once. `ofContainer` and `ofPod` are further fields in YAML, whose second lines are indented
 * by 6 and by 2.
 */
export function scriptPod(name: string, script: string, ofContainer = '', ofPod = ''): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, ${JSON.stringify(script)}]
      ${ofContainer}
  ${ofPod}
---
`;
}

import type { ContainerPort } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createPodInfo } from '../../framework/pod-info.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { nodePorts } from './node-ports.ts';

/** Each text is `PROTOCOL/HOST IP/PORT`. */
const portsOf = (texts: readonly string[]): ContainerPort[] =>
  texts.map((text) => {
    const [protocol = '', hostIP = '', port = ''] = text.split('/');
    return { containerPort: Number(port), hostPort: Number(port), hostIP, protocol };
  });

const podWith = (name: string, texts: readonly string[]) =>
  examplePod(name, { node: 'a', spec: { containers: [{ name: 'main', ports: portsOf(texts) }] } });

const fits = (pod: ReturnType<typeof podWith>, ...others: readonly ReturnType<typeof podWith>[]) => {
  const [node] = exampleSnapshot([exampleNode('a')], others).nodes;
  if (node === undefined) throw new Error('no node');
  return nodePorts.filter(createPodInfo(pod), node).length === 0;
};

/** The cases of Kubernetes' pkg/scheduler/framework/plugins/nodeports. */
describe('host ports', () => {
  it.each<readonly [string, readonly string[], readonly string[], boolean]>([
    ['another port', ['UDP/127.0.0.1/8080'], ['UDP/127.0.0.1/9090'], true],
    ['the same one of UDP', ['UDP/127.0.0.1/8080'], ['UDP/127.0.0.1/8080'], false],
    ['the same one of TCP', ['TCP/127.0.0.1/8080'], ['TCP/127.0.0.1/8080'], false],
    ['another address', ['TCP/127.0.0.1/8080'], ['TCP/127.0.0.2/8080'], true],
    ['another protocol', ['UDP/127.0.0.1/8080'], ['TCP/127.0.0.1/8080'], true],
    ['the second of two', ['UDP/127.0.0.1/8000', 'UDP/127.0.0.1/8080'], ['UDP/127.0.0.1/8080'], false],
    ['the first of two', ['TCP/127.0.0.1/8001', 'UDP/127.0.0.1/8080'], ['TCP/127.0.0.1/8001'], false],
    ['all addresses against one', ['TCP/0.0.0.0/8001'], ['TCP/127.0.0.1/8001'], false],
    ['one and all against another', ['TCP/10.0.10.10/8001', 'TCP/0.0.0.0/8001'], ['TCP/127.0.0.1/8001'], false],
    ['one against all addresses', ['TCP/127.0.0.1/8001'], ['TCP/0.0.0.0/8001'], false],
    ['no address is all of them', ['TCP//8001'], ['TCP/127.0.0.1/8001'], false],
    ['one of UDP against all of TCP', ['UDP/127.0.0.1/8001'], ['TCP/0.0.0.0/8001'], true],
    ['one of UDP against all of both', ['UDP/127.0.0.1/8001'], ['TCP/0.0.0.0/8001', 'UDP/0.0.0.0/8001'], false],
  ])('%s', (_, wanted, taken, isFree) => {
    expect(fits(podWith('p', wanted), podWith('x', taken))).toBe(isFree);
  });

  it("of an init container that ends are free again, those of a sidecar are the pod's", () => {
    const withInit = (restart: { restartPolicy?: string }) =>
      examplePod('p', {
        spec: {
          containers: [{ name: 'main' }],
          initContainers: [{ name: 'init', ports: portsOf(['TCP//8001']), ...restart }],
        },
      });
    const taken = podWith('x', ['TCP/0.0.0.0/8001']);
    expect(fits(withInit({}), taken)).toBe(true);
    expect(fits(withInit({ restartPolicy: 'Always' }), taken)).toBe(false);
  });
});

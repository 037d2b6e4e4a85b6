import type { Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { hostnameFile, hostnameRefusal, hostsFile, kernelHostname, podHostname } from './hostname.ts';

const LONG = 'a'.repeat(62);

it.each<{ readonly why: string; readonly object: Pod; readonly short: string; readonly kernel: string }>([
  { why: 'its own name', object: pod(), short: 'web', kernel: 'web' },
  { why: 'its hostname', object: pod({ hostname: 'db', subdomain: 'sub' }), short: 'db', kernel: 'db' },
  {
    why: 'its hostname with its domain',
    object: pod({ hostname: 'db', subdomain: 'sub', setHostnameAsFQDN: true }),
    short: 'db',
    kernel: 'db.sub.default.svc.cluster.local',
  },
  { why: 'no domain without a subdomain', object: pod({ setHostnameAsFQDN: true }), short: 'web', kernel: 'web' },
  { why: 'an override', object: pod({ hostnameOverride: 'x.y', subdomain: 'sub' }), short: 'x.y', kernel: 'x.y' },
  {
    why: 'a long name that is cut',
    object: pod({}, {}, { name: `${LONG}-.b` }),
    short: LONG,
    kernel: LONG,
  },
])('a pod is called by $why', ({ object, short, kernel }) => {
  expect([podHostname(object), kernelHostname(object)]).toEqual([short, kernel]);
});

it('the hostname file of a pod has what `hostname` prints; on the network of its host it has none', () => {
  const named = { hostname: 'db', subdomain: 'sub', setHostnameAsFQDN: true };
  expect(hostnameFile(pod(named))).toBe('db.sub.default.svc.cluster.local\n');
  expect(hostnameFile(pod({ ...named, hostNetwork: true }))).toBeUndefined();
});

it('a name and domain that the kernel would not take are refused in kubelet’s words', () => {
  const object = (hostname: string) => pod({ hostname, subdomain: 'sub', setHostnameAsFQDN: true });
  // `.sub.default.svc.cluster.local` has 30 characters.
  expect(hostnameRefusal(object('a'.repeat(34)))).toBeUndefined();
  expect(hostnameRefusal(object('a'.repeat(35)))).toMatch(/is too long \(64 is the max, 65 characters requested\)$/);
  expect(hostnameRefusal(pod({ hostname: LONG, subdomain: 'sub' }))).toBeUndefined();
});

it('the hosts file of a pod names it, then its aliases, one line each', () => {
  const hostAliases = [
    { ip: '10.9.9.9', hostnames: ['one', 'two'] },
    { ip: '10.9.9.8', hostnames: ['three'] },
  ];
  const text = hostsFile(pod({ hostAliases, subdomain: 'sub' }), '10.0.0.9');
  expect(text?.startsWith('# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n')).toBe(true);
  expect(text?.split('fe00::2\tip6-allrouters\n')[1]).toBe(
    '10.0.0.9\tweb.sub.default.svc.cluster.local\tweb\n\n# Entries added by HostAliases.\n10.9.9.9\tone\ttwo\n10.9.9.8\tthree\n',
  );
  expect(hostsFile(pod(), '10.0.0.9')?.endsWith('ip6-allrouters\n10.0.0.9\tweb\n')).toBe(true);
});

it('there is none on the host’s network, and none without an address', () => {
  expect([hostsFile(pod({ hostNetwork: true }), '10.0.0.1'), hostsFile(pod(), '')]).toEqual([undefined, undefined]);
});

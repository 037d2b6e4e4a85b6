import { namespace, pod, service, slice } from './example-cluster.ts';

const HTTP = { name: 'http', port: 80, protocol: 'TCP' };

/** One object for each case of the specification. */
export const EXAMPLE_OBJECTS = [
  namespace('default'),
  namespace('kube-system'),
  namespace('empty'),
  service('kube-system', 'kube-dns', { clusterIP: '10.96.0.10', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }),
  service('default', 'web', {
    clusterIP: '10.96.0.20',
    ports: [HTTP, { name: 'dns', port: 53, protocol: 'UDP' }, { port: 9 }],
  }),
  service('default', 'pending', { type: 'ClusterIP', ports: [HTTP] }),
  service('default', 'db', { clusterIP: 'None', ports: [{ name: 'sql', port: 5432 }] }),
  slice('default', 'db', ['10.128.4.1=db-0', '10.128.4.2', '10.128.4.3=db-2!'], [{ name: 'sql', port: 5432 }]),
  service('default', 'idle', { clusterIP: 'None', ports: [{ name: 'sql', port: 5432 }] }),
  slice('default', 'idle', ['10.128.4.9!'], [{ name: 'sql', port: 5432 }]),
  service('default', 'portless', { clusterIP: 'None' }),
  slice('default', 'portless', ['10.128.4.7=one', '10.128.4.8=one']),
  service('default', 'alias', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }),
  service('default', 'outside', { type: 'ExternalName', externalName: 'www.example.com' }),
  service('default', 'circle', { type: 'ExternalName', externalName: 'circle.default.svc.cluster.local' }),
  service('default', 'broken', { type: 'ExternalName', externalName: `${'x'.repeat(70)}.example.com` }),
  pod('default', 'a', '10.128.4.1'),
  pod('default', 'done', '10.128.4.99', 'Succeeded'),
];

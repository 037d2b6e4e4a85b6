import { expect, it } from 'vitest';
import { addWrites, parseWrites } from './api-writes.ts';

const TEXT = (leases: number) => `# TYPE apiserver_request_total counter
apiserver_request_total{verb="UPDATE",group="coordination.k8s.io",resource="leases",subresource="",code="200"} ${leases}
apiserver_request_total{verb="UPDATE",group="",resource="pods",subresource="status",code="200"} 3
apiserver_request_total{verb="UPDATE",group="",resource="pods",subresource="status",code="409"} 1
apiserver_request_total{verb="LIST",group="",resource="pods",subresource="",code="200"} 7
`;

it('counts the writes between two looks at several servers', () => {
  const writes = addWrites([parseWrites(TEXT(10)), parseWrites(TEXT(6))], [parseWrites(TEXT(8)), parseWrites('')]);
  expect(Object.fromEntries(writes)).toEqual({ 'update leases': 8, 'update pods/status': 4 });
});

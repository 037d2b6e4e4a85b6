import { expect, it } from 'vitest';
import { addCalls, callTable, parseCalls } from './engine-calls.ts';

const TEXT = (starts: number) => `# TYPE gantry_engine_request_seconds histogram
gantry_engine_request_seconds_bucket{le="0.1",call="POST /containers/{}/start"} 0
gantry_engine_request_seconds_sum{call="POST /containers/{}/start"} ${starts / 4}
gantry_engine_request_seconds_count{call="POST /containers/{}/start"} ${starts}
`;

it('counts the requests between two looks at several agents', () => {
  const sum = addCalls(new Map(), [parseCalls(TEXT(10)), parseCalls(TEXT(6))], [parseCalls(TEXT(8)), parseCalls('')]);
  expect(sum.get('POST /containers/{}/start')).toEqual({ count: 8, seconds: 2 });
  expect(callTable(sum, 4).at(-1)).toBe('| POST /containers/{}/start | 2.00 | 250 ms |');
});

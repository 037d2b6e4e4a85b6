import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context, trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { StatusError } from '@gantry/objects';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { traced, type Tracer } from './tracer.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
// Its type is that of the package's users.
const tracer: Tracer = provider.getTracer('backups');

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

it('makes a span that is active during the work', async () => {
  const result = await traced(tracer, 'reconcile backups', { object: 'a/b' }, async () => {
    await Promise.resolve();
    trace.getTracer('other');
    provider.getTracer('http').startSpan('GET').end();
    return 7;
  });
  expect(result).toBe(7);
  const [child, parent] = exporter.getFinishedSpans();
  expect([parent?.name, parent?.attributes, parent?.status.code]).toEqual(['reconcile backups', { object: 'a/b' }, 0]);
  expect(child?.parentSpanContext?.spanId).toBe(parent?.spanContext().spanId);
});

it.each([
  [new RangeError('broken'), 2],
  [StatusError.conflict({ group: '', resource: 'configmaps' }, 'c', 'changed'), 0],
])('records %s with the status %i', async (error, code) => {
  exporter.reset();
  await expect(traced(tracer, 'reconcile', {}, () => Promise.reject(error))).rejects.toBe(error);
  const [span] = exporter.getFinishedSpans();
  expect([span?.status.code, span?.events.map(({ name }) => name)]).toEqual([code, ['exception']]);
});

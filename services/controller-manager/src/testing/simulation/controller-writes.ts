import { createObjectClient, type ObjectClient, writeResult } from '@gantry/client';
import type { ControllerContext, ControllerSpec } from '@gantry/controller-runtime';

/** Receives the verb and resource of a controller's write before it is sent. An Event counts when it is reported. */
export type NoteWrite = (controller: string, write: string) => void;

/** Returns the controller with reconciles that report their writes. */
export function withNotedWrites(spec: ControllerSpec, note: NoteWrite): ControllerSpec {
  const noted = (context: ControllerContext): ControllerContext => ({
    ...context,
    client: notedClient(context.client, (write) => note(spec.name, write)),
    events: {
      event: (...report) => {
        note(spec.name, 'create events');
        context.events.event(...report);
      },
    },
  });
  return { ...spec, reconcile: (key, context, signal) => spec.reconcile(key, noted(context), signal) };
}

function notedClient(client: ObjectClient, note: (write: string) => void): ObjectClient {
  const write: ObjectClient['write'] = (sent, signal) => {
    note(`${sent.verb} ${sent.resource.resource}`);
    return client.write(sent, signal);
  };
  return createObjectClient({
    get: (...request) => client.get(...request),
    list: (...request) => client.list(...request),
    watch: (...request) => client.watch(...request),
    write,
    batch: (writes, signal) => Promise.all(writes.map((one) => writeResult(write(one, signal)))),
  });
}

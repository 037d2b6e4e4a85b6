import { ManualClock } from '@gantry/base/testing';
import { describeObjectClient } from './describe-object-client.ts';
import { FakeObjectClient } from './fake-object-client.ts';

describeObjectClient('the fake object client', async () => ({
  client: new FakeObjectClient(new ManualClock()),
  namespace: 'default',
  close: async () => undefined,
}));

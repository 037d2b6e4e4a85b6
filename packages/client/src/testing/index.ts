export { describeObjectClient } from './describe-object-client.ts';
export { type FakeCall, FakeObjectClient } from './fake-object-client.ts';
export { createOvertakenClient } from './overtaken-client.ts';
export { decodeObject, encodeWrite } from '../grpc/messages.ts';

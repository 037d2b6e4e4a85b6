/** The API server for tests of other workspaces: in process, with the memory store. */
export { type ExtensionServer, startExtensionServer } from '../aggregation/testing/extension-server.ts';
export {
  type InProcessServer,
  type InProcessUser,
  startInProcessServer,
  type StoredChange,
} from './in-process-server.ts';
export { startApiServer, type TestApiServer, type TestApiServerOptions } from './start-api-server.ts';
export { createTestPki, type TestPki } from './test-pki.ts';
export { type WebhookCaller, WebhookCallError } from '../webhooks/index.ts';

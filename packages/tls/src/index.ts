/**
 * TLS material of both sides of a connection, and its renewal while connections are open.
 *
 * - `tls-source`: `TlsSource`, which servers and clients take, and its form for grpc-js
 * - `tls-folder`: a source from files that are read again when they change
 * - `reconnecting-client`: a gRPC client whose attempts to connect have a limit
 * - `https-agent`: connections of clients, which are kept and closed before the server closes them
 * - `unasked-switch`: responses that switch the protocol of a request that does not ask for it
 * - `live-channel`, `silence`: close connections of gRPC whose peer is silent
 * - `certificate-life`, `requests`: when a certificate is renewed; keys, certificate requests and self-signed certificates
 *
 * Used by the clients (`packages/client`, `packages/etcd`), the servers (`packages/service`, the apiserver) and the services
 * that open the folders.
 */
export { type CertificateLife, certificateLife } from './certificate-life.ts';
export { createRenewalRequest, createRequest, createSelfSigned, generateKey } from './requests.ts';
export { ReconnectingClient } from './reconnecting-client.ts';
export { createHttpsAgent } from './https-agent.ts';
export { type LiveChannel, liveChannel, type Liveness } from './live-channel.ts';
export { Silence } from './silence.ts';
export { openTlsFolder, readTlsFolder, TlsFilesError, type TlsFolder } from './tls-folder.ts';
export { onUnaskedSwitch } from './unasked-switch.ts';
export { createCertificateProvider, fixedTls, type TlsMaterial, type TlsSource } from './tls-source.ts';

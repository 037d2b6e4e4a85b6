// Replaces `ssh2` in bundles. docker-modem loads it for engines behind SSH; ours is behind a socket.
exports.Client = class AbsentSshClient {
  constructor() {
    throw new Error('Docker over SSH is not part of this build');
  }
};

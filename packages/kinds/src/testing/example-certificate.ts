/** A block of a type in PEM. */
export const pem = (type: string, body = 'dGVzdA==') =>
  Buffer.from(`-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`);
/** A key and, below, its own certificate: valid on 2026-11-21 and 22 only; no test checks the time. */
export const KEY = pem(
  'EC PRIVATE KEY',
  'MHcCAQEEINdvbXZFtKzOFRg0oz7rZ4v1CHeese3fGssRpbeew3huoAoGCCqGSM49AwEHoUQDQgAEJs2bbEabn8DhQ/9x2aOiTnfYX/ndgi+F6xck+TwAU6tKLdw6MjevGKU9VTwh5OhSRIw6CfTeYy4YIgzLu3HJew==',
);

export const CERTIFICATE = pem(
  'CERTIFICATE',
  'MIIBVTCB+6ADAgECAhQStVxPG6aw3L2TIrsk6LpOM9wtGzAKBggqhkjOPQQDAjAAMB4XDTI2MTEyMTIwMTAyMVoXDTI2MTEyMjIwMTAyMVowADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCbNm2xGm5/A4UP/cdmjok532F/53YIvhesXJPk8AFOrSi3cOjI3rxilPVU8IeToUkSMOgn03mMuGCIMy7txyXujUzBRMB0GA1UdDgQWBBQrmudh8VEcgWR1IbKHVEIiM88MrTAfBgNVHSMEGDAWgBQrmudh8VEcgWR1IbKHVEIiM88MrTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCzX3qnHIBf42JaXHbEeCODNz3nsHb8FAin+wsjzRjYNgIhAJfkFmN9VaMUHvmPAXJLk0bP1BuishgZqlNksAIG8wYW',
);

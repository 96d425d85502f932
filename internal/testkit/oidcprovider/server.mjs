// A provider of OpenID Connect for tests. It knows ann, who is a reader, and bob, who is nothing, and lets them in by any password.
import { Provider } from 'oidc-provider';

const [port, redirect] = process.argv.slice(2);
const roles = { ann: ['reader'] };
const device = 'urn:ietf:params:oauth:grant-type:device_code';
// Node 18, which Debian 12 has, lacks it.
URL.parse ??= (url, base) => (URL.canParse(url, base) ? new URL(url, base) : null);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'henge', client_secret: 'hush-hush-hush-hush-hush-hush-hu', redirect_uris: [redirect],
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    },
    {
      client_id: 'henge-cli', token_endpoint_auth_method: 'none', redirect_uris: [], response_types: [], grant_types: [device, 'refresh_token'],
    },
  ],
  conformIdTokenClaims: false, // claims of a scope are in the ID token
  claims: { openid: ['sub'], profile: ['realm_access', 'preferred_username'] },
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
  issueRefreshToken: async () => true,
  pkce: { required: () => true },
  findAccount: async (_, id) => ({
    accountId: id, claims: async () => ({ sub: id, preferred_username: id, realm_access: { roles: roles[id] ?? [] } }),
  }),
});
provider.listen(port, '127.0.0.1');

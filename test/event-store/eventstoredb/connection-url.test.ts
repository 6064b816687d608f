import t from 'tap'
import { parseConnectionUrl } from '../../../src/event-store/eventstoredb/eventstoredb-url.js'

t.test('parses nodes, credentials and parameters of a URL', async (t) => {
  t.match(parseConnectionUrl('esdb://127.0.0.1'), {
    kind: 'node',
    endpoints: [{ address: '127.0.0.1', port: 2113 }],
    credentials: undefined,
    tls: true,
    nodePreference: 'leader',
  })
  t.match(parseConnectionUrl('esdb://admin:ch%40nge%3Ait@a:1,b,[::1]:3/?tls=false&NodePreference=readOnlyReplica'), {
    kind: 'cluster',
    endpoints: [
      { address: 'a', port: 1 },
      { address: 'b', port: 2113 },
      { address: '[::1]', port: 3 },
    ],
    credentials: { username: 'admin', password: 'ch@nge:it' },
    tls: false,
    nodePreference: 'read_only_replica',
  })
  t.match(parseConnectionUrl('esdb+discover://cluster.example:2113?connectionName=node-1'), {
    kind: 'discover',
    connectionName: 'node-1',
  })
})

t.test('rejects an invalid URL, and the error contains no part of it', async (t) => {
  const secret = 'hunter2'
  const wrong: [url: string, reason: RegExp][] = [
    [`esdb:${secret}`, /must name a server/],
    ['esdb://', /must name a server/],
    [`esdb://admin:${secret}@`, /must name a server/],
    [`esdb://${secret}@host`, /user:password@/],
    [`esdb://admin:${secret}%@host`, /user:password@/],
    [`esdb://admin:a/${secret}@host`, /must name (a server|hosts)/],
    [`esdb://admin:a?${secret}@host`, /must name (a server|hosts)|unknown parameter/],
    [`esdb://host:${secret}`, /host:port/],
    ['esdb://host:0', /host:port/],
    ['esdb://host:65536', /host:port/],
    [`esdb://host?${secret}=1`, /unknown parameter; known are tls/],
    [`esdb://host?tls=${secret}`, /tls as true or false/],
    ['esdb://host?tlsVerifyCert=false', /tlsCAFile/],
    [`esdb://host?tlsCAFile=/${secret}.pem`, /names a missing tlsCAFile/],
    [`esdb://host?userCertFile=${import.meta.filename}`, /together/],
    [`esdb://host?nodePreference=${secret}`, /nodePreference as one of/],
    ['esdb+discover://a,b', /one host/],
    [`mongodb://admin:${secret}@host`, /must name a server/],
  ]
  for (const [url, reason] of wrong) {
    t.throws(() => parseConnectionUrl(url), { name: 'TypeError', message: reason }, url)
    try {
      parseConnectionUrl(url)
    } catch (error) {
      t.notMatch((error as Error).message, secret, url)
    }
  }
})

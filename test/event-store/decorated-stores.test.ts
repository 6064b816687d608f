import { randomBytes } from 'node:crypto'
import t from 'tap'
import { addEventCodes, checkEventCodes, eventKeyOf } from '../../src/event-store/event-codes.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { skipEvents } from '../../src/event-store/read-event.js'
import { CustomerKeys } from '../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { sealing } from '../../src/privacy/sealing-store.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { tracedStore } from '../../src/tracing/tracing.js'
import { openTestStore } from '../support/embedded-store.js'

/** Every member of the port. The compiler reports a missing one. */
const members = {
  append: true,
  appendInOrder: true,
  readStream: true,
  readEvents: true,
  readAll: true,
  readUnparsed: true,
  readPlaces: true,
  subscribeToAll: true,
  persistentSubscriptions: true,
  close: true,
} satisfies { readonly [name in keyof Required<EventStore>]: true }
const names = Object.keys(members) as (keyof EventStore)[]

t.test('each decorated store has every member of the port', async (t) => {
  const store = await openTestStore(t)
  const keys = new CustomerKeys(openEmbeddedKeyStore({ directory: t.testdir() }), createSecretBox(randomBytes(32)))
  t.teardown(() => keys.close())
  const key = eventKeyOf('test')
  const codes = {
    addEventCodes: (raw: EventStore) => addEventCodes(raw, key),
    checkEventCodes: (raw: EventStore) => checkEventCodes(raw, key),
  }
  const decorators = { skipEvents, sealing: (raw: EventStore) => sealing(raw, keys), tracedStore, ...codes }
  for (const [decorator, decorate] of Object.entries(decorators)) {
    for (const name of names) t.ok(decorate(store)[name] !== undefined, `${decorator}: ${name}`)
  }
  const { skipEvents: marks, sealing: opens, checkEventCodes: checks } = decorators
  for (const [decorator, decorate] of Object.entries({ marks, opens, checks })) {
    for (const name of ['readStream', 'readEvents', 'readAll', 'subscribeToAll'] as const)
      t.not(decorate(store)[name], store[name], `${decorator} what ${name} returns`)
  }
})

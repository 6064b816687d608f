import { accept, type Decider, type Decision } from '../../kernel/decision.js'
import { Data, type EventsOf, Id, Time, type ValueOf } from '../event.js'

const endpoint = { merchantId: Id, at: Time }

/** The health of a merchant's callback endpoint, which outlasts a restart, in `callbacks-endpoint-<merchantId>`. */
export const endpointEvents = {
  /** Every attempt has failed since `since`. A single failure is not recorded. */
  CallbackEndpointFailing: Data({ ...endpoint, since: Time }),
  CallbackEndpointRecovered: Data(endpoint),
}

export type EndpointEvent = EventsOf<typeof endpointEvents>

interface EndpointState {
  /** Null while the endpoint accepts callbacks. */
  readonly failingSince: string | null
}

type EndpointCommand =
  | ({ readonly type: 'NoteFailing' } & ValueOf<typeof endpointEvents.CallbackEndpointFailing>)
  | ({ readonly type: 'NoteRecovered' } & ValueOf<typeof endpointEvents.CallbackEndpointRecovered>)

export const endpointDecider: Decider<EndpointState, EndpointCommand, EndpointEvent> = {
  initialState: { failingSince: null },
  decide,
  evolve,
}

function decide(command: EndpointCommand, { failingSince }: EndpointState): Decision<EndpointEvent> {
  switch (command.type) {
    case 'NoteFailing': {
      const { type: _, ...data } = command
      return failingSince === null ? accept({ type: 'CallbackEndpointFailing', data }) : accept()
    }
    case 'NoteRecovered': {
      const { type: _, ...data } = command
      return failingSince === null ? accept() : accept({ type: 'CallbackEndpointRecovered', data })
    }
    default:
      return command satisfies never
  }
}

function evolve(_state: EndpointState, event: EndpointEvent): EndpointState {
  switch (event.type) {
    case 'CallbackEndpointFailing':
      return { failingSince: event.data.since }
    case 'CallbackEndpointRecovered':
      return { failingSince: null }
    default:
      return event satisfies never
  }
}

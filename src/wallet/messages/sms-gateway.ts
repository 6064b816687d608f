import { KeyedLimit } from '../../kernel/keyed-limit.js'
import { ExchangeFailedError, exchange } from '../exchange.js'
import { MessageNotSentError, type Sender, type Sms } from '../messages.js'

export interface SmsGateway {
  readonly url: string
  readonly token: string
}

const timeoutMs = 10_000
const maxMessages = 20

/** Sends each SMS as a POST of `{to, text}`; any 2xx status means that the gateway accepted it (docs/reference/messages.md). */
export function createSmsGateway({ url, token }: SmsGateway): Pick<Sender, 'sendSms'> {
  const limit = new KeyedLimit({ concurrency: maxMessages, maxWaiting: 0 }, (key) => {
    return new MessageNotSentError(`${maxMessages} ${key} are in progress`)
  })
  return {
    sendSms: ({ to, text }: Sms) =>
      limit.run('SMS', async () => {
        try {
          const { status } = await exchange({ method: 'POST', url, token, body: { to, text }, timeoutMs })
          if (status < 200 || status > 299)
            throw new MessageNotSentError(`the SMS gateway responded with status ${status}`)
        } catch (error) {
          if (!(error instanceof ExchangeFailedError)) throw error
          throw new MessageNotSentError(`the SMS gateway did not respond: ${error.message}`)
        }
      }),
  }
}

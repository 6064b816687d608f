// The messages port: how the built-in wallet reaches a customer. Codes and links are in messages and nowhere else.

export interface Sms {
  /** E.164. */
  readonly to: string
  readonly text: string
  readonly code: string
}

export interface Email {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly link: string
}

/** Both methods may throw {@link MessageNotSentError}. */
export interface Sender {
  sendSms(sms: Sms): Promise<void>
  sendEmail(email: Email): Promise<void>
}

export interface Messages extends Sender {
  /** Returns why the configuration does not allow all messages, or `undefined` if it is complete. */
  unpreparedReason(): string | undefined
}

/** The message was probably not sent. The error contains no recipient, code or link. */
export class MessageNotSentError extends Error {
  override readonly name = 'MessageNotSentError'
}

export interface OutboxMessage {
  readonly kind: 'sms' | 'email'
  readonly to: string
  readonly code: string | null
  readonly link: string | null
  readonly at: string
}

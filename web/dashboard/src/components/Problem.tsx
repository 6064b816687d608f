import { ApiError } from '../api/api-error'
import { useKnownText, useText } from '../app/texts'
import { Button } from './Button'
import { useServerWords } from './server-words'
import './Problem.css'

interface ProblemProps {
  readonly error: Error | null
  readonly retry?: (() => void) | undefined
  /** The fields whose messages are shown elsewhere. */
  readonly shownFields?: readonly string[]
  /** The failed request was a read, not a change. */
  readonly reading?: boolean
}

/** Shows what went wrong, whether anything was changed, and what to do next. */
export function Problem({ error, retry, shownFields = [], reading = false }: ProblemProps) {
  const text = useText()
  const { title, help } = useErrorTexts(error, reading)
  const serverWords = useServerWords()
  if (!error) return null
  const { details, fields } = error instanceof ApiError ? error : { details: null, fields: {} }
  const others = Object.entries(fields).filter(([name]) => !shownFields.includes(name))
  return (
    <div className="Problem" role="alert">
      <p className="Problem-title">{title}</p>
      <p>{help}</p>
      {details && <p>{serverWords.detail(details)}</p>}
      {others.length > 0 && (
        <ul>
          {others.map(([name, message]) => (
            <li key={name}>{serverWords.field(message)}</li>
          ))}
        </ul>
      )}
      {retry && <Button onPress={retry}>{text('common.tryAgain')}</Button>}
    </div>
  )
}

function useErrorTexts(error: Error | null, reading: boolean): { readonly title: string; readonly help: string } {
  const text = useText()
  const known = useKnownText()
  if (!(error instanceof ApiError)) return { title: text('errors.crashed'), help: text('errors.crashedHelp') }
  const { outcome, refusal, message } = error
  if (outcome === 'unknown') return { title: text('errors.unknown'), help: text('errors.unknownHelp') }
  const reason = refusal === undefined ? undefined : (known(`errors.name.${refusal}`) ?? message)
  if (outcome === 'unreachable') {
    return { title: text('errors.unreachable'), help: reason ?? text('errors.unreachableHelp') }
  }
  const title = refusal === undefined ? undefined : known(`errors.title.${refusal}`)
  return { title: title ?? text(reading ? 'errors.notShown' : 'errors.refused'), help: reason ?? message }
}

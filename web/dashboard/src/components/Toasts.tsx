import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { useText } from '../app/texts'
import { Button } from './Button'
import './Toasts.css'

type ToastTone = 'good' | 'bad' | 'plain'

interface Toast {
  readonly id: number
  readonly message: string
  readonly tone: ToastTone
}

const shownForMs = 8_000

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id))
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Shows a message, in place of an earlier one, and announces it to screen readers. Messages about failures stay until they are dismissed. */
export function notify(message: string, tone: ToastTone = 'good'): void {
  lastId += 1
  const id = lastId
  change([...toasts, { id, message, tone }].slice(-1))
  if (tone !== 'bad') setTimeout(() => dismiss(id), shownForMs)
}

/** Rendered once, above dialogs. It is always present, because screen readers announce only changes of an existing region. */
export function Toasts() {
  const text = useText()
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <section
      className="Toasts screen-only"
      data-react-aria-top-layer
      aria-label={text('common.notifications')}
      aria-live="polite"
    >
      {shown.map(({ id, message, tone }) => (
        <div key={id} className={`Toast Toast-${tone}`}>
          {tone === 'bad' ? <CircleAlert /> : <CircleCheck />}
          <span className="Toast-text">{message}</span>
          <Button look="quiet" small icon aria-label={text('common.dismiss')} onPress={() => dismiss(id)}>
            <X />
          </Button>
        </div>
      ))}
    </section>
  )
}

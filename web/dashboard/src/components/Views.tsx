import { Bookmark, Plus, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Dialog, DialogTrigger, Form, Popover } from 'react-aria-components'
import { useText } from '../app/texts'
import { Button } from './Button'
import { CappedCount } from './CappedCount'
import { dataOf, fieldText } from './form-data'
import { TextField } from './TextField'
import { TriggerButton } from './TriggerButton'
import './Tabs.css'
import './Views.css'

export interface View {
  readonly id: string
  readonly label: string
  /** The address of the list with the filters of the view. */
  readonly href: string
  readonly isCurrent: boolean
  /** Undefined while it is unknown, and for views without a count. */
  readonly count: number | undefined
  /** The user saved it in this browser, and can remove it. */
  readonly isOwn: boolean
}

interface ViewsProps {
  readonly label: string
  readonly views: readonly View[]
  readonly onOpen: (id: string) => void
  /** Saves the current filters under a name; `undefined` if a view has them already. */
  readonly onSave: ((name: string) => void) | undefined
  readonly onRemove: (id: string) => void
}

const maxNameLength = 40

/** Names for filters, as tabs. */
export function Views({ label, views, onOpen, onSave, onRemove }: ViewsProps) {
  const text = useText()
  return (
    <div className="Views screen-only">
      <ul className="Tabs-list" aria-label={label}>
        {views.map(({ id, label: name, href, isCurrent, count, isOwn }) => (
          <li key={id} className="Views-item">
            <a
              href={href}
              className="Tabs-tab"
              aria-current={isCurrent ? 'page' : undefined}
              onClick={(event) => {
                if (event.ctrlKey || event.metaKey || event.shiftKey) return
                event.preventDefault()
                onOpen(id)
              }}
            >
              {isOwn && <Bookmark className="icon-14" />}
              {name}
              {count !== undefined && (
                <span className="Count">
                  <CappedCount count={count} />
                </span>
              )}
            </a>
            {isOwn && isCurrent && (
              <Button
                look="quiet"
                small
                icon
                aria-label={text('common.removeView', { name })}
                onPress={() => onRemove(id)}
              >
                <X />
              </Button>
            )}
          </li>
        ))}
      </ul>
      {onSave && <SaveView onSave={onSave} />}
    </div>
  )
}

function SaveView({ onSave }: { readonly onSave: (name: string) => void }) {
  const text = useText()
  const [isOpen, setOpen] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const name = fieldText(dataOf(event.currentTarget), 'name')
    if (name === '') return
    setOpen(false)
    onSave(name)
  }
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <TriggerButton look="quiet" small className="Views-save">
        <Plus />
        {text('common.saveView')}
      </TriggerButton>
      <Popover className="Popover">
        <Dialog aria-label={text('common.saveView')} className="Views-dialog">
          <Form className="stack" onSubmit={submit}>
            <TextField
              name="name"
              label={text('common.viewName')}
              description={text('common.saveViewHelp')}
              maxLength={maxNameLength}
              required
              autoFocus
            />
            <Button type="submit" look="primary">
              {text('common.save')}
            </Button>
          </Form>
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
}

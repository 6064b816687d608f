import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { useText } from '../app/texts'
import { Button } from './Button'
import './Dialog.css'

interface DialogProps {
  readonly title: string
  readonly open: boolean
  /** Without it, only a button of the content closes the dialog. */
  readonly onClose?: () => void
  readonly children: ReactNode
  readonly wide?: boolean
  /** Hides the page behind it, whose data no longer belongs to a signed-in user. */
  readonly covering?: boolean
  /** `alertdialog`: asks the user to confirm an action. */
  readonly role?: 'dialog' | 'alertdialog'
}

/** Stays open when the user presses outside of it, so that typed text is not lost. */
export function Dialog(props: DialogProps) {
  const { title, open, onClose, children, wide = false, covering = false, role = 'dialog' } = props
  const text = useText()
  return (
    <ModalOverlay
      className={covering ? 'Dialog-ground Dialog-covering' : 'Dialog-ground'}
      isOpen={open}
      isKeyboardDismissDisabled={!onClose}
      onOpenChange={(isOpen) => isOpen || onClose?.()}
    >
      <Modal className={wide ? 'Dialog Dialog-wide' : 'Dialog'}>
        <AriaDialog className="Dialog-content" role={role}>
          <div className="Dialog-head">
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            {onClose && (
              <Button look="quiet" small icon onPress={onClose} aria-label={text('common.close')}>
                <X />
              </Button>
            )}
          </div>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

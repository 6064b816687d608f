import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, ComponentProps } from 'react'
import './Button.css'

/** `bad`: opens the question of a permanent action, whose answer is a `danger` button. */
export type Look = 'primary' | 'plain' | 'danger' | 'bad' | 'quiet'

export interface ButtonLook {
  readonly look?: Look | undefined
  readonly small?: boolean | undefined
  /** The content is one icon, and `aria-label` is the name. */
  readonly icon?: boolean | undefined
  readonly className?: string | undefined
}

export function buttonClasses({ look = 'plain', small = false, icon = false, className = '' }: ButtonLook): string {
  return `Button Button-${look} ${small ? 'Button-small' : ''} ${icon ? 'Button-icon' : ''} ${className}`
}

interface ButtonProps extends ButtonLook, Omit<ComponentProps<'button'>, 'className' | 'onClick' | 'disabled'> {
  readonly onPress?: (() => void) | undefined
  readonly isDisabled?: boolean
  /** The action is in progress, and further presses are ignored. */
  readonly pending?: boolean | undefined
}

/** An element of the browser, because React Aria's button would be a tenth of the first page. A button that opens a menu is a TriggerButton. */
export function Button(props: ButtonProps) {
  const { look, small, icon, className = '', pending = false, isDisabled, onPress, ...rest } = props
  const classes = `${className} ${pending ? 'Button-pending' : ''}`
  return (
    <button
      type="button"
      {...rest}
      disabled={isDisabled}
      aria-disabled={pending || rest['aria-disabled'] === true}
      className={buttonClasses({ look, small, icon, className: classes })}
      onClick={(event) => {
        // Safari does not focus a button on a click, and a dialog returns the focus to the element that had it.
        event.currentTarget.focus({ preventScroll: true })
        if (pending) event.preventDefault()
        else onPress?.()
      }}
    />
  )
}

interface ButtonLinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly look?: Look
}

/** A link to a page, styled as a button. */
export const ButtonLink = createLink(({ look = 'plain', children, ...props }: ButtonLinkProps) => (
  <a {...props} className={`Button Button-${look}`}>
    {children}
  </a>
))
